// What the scripts of the page find there. Its elements are HTML's: a selector finds no other.

declare const vis: any;
declare var ConductorGraph: any;
declare var conductorDownloads: Set<string>;
declare var conductorReading: Map<string, any>;
declare var conductorRevealed: Set<string>;

interface Document {
  conductorQuestion: any;
}

interface HTMLElement {
  disabled?: boolean;
  src?: string;
}

interface ParentNode {
  querySelector(selectors: string): HTMLElement | null;
  querySelectorAll(selectors: string): NodeListOf<HTMLElement>;
}

interface WindowEventMap {
  "conductor-step": CustomEvent<{ step: number | null; graph: string }>;
}
