// Draws formulas with the KaTeX that Streamlit's frontend brings, loaded when the first one is on the page.

export const FORMULAS = ".formula:not([data-drawn])";
const AT_ONCE = 30;                                         // so many formulas are drawn before the page answers again

/** @type {any} */
let katex = null;
/** @type {Promise<any> | null} */
let loading = null;

export async function drawFormulas(holder, name) {
  if (!katex) {
    loading ??= import(new URL(name, folderOfScripts()).href);
    try { katex = (await loading).default; } catch { loading = null; return; }
  }
  dressed(holder.getRootNode());
  const formulas = [...holder.querySelectorAll(FORMULAS)];
  formulas.slice(0, AT_ONCE).forEach(draw);
  if (formulas.length > AT_ONCE) setTimeout(() => drawFormulas(holder, name));
}

function draw(formula) {
  formula.dataset.drawn = "";
  const tex = formula.textContent;
  const options = { displayMode: formula.classList.contains("display"), throwOnError: true, trust: false,
    strict: "ignore", maxExpand: 400, maxSize: 20 };
  try {
    formula.innerHTML = katex.renderToString(tex, options);
  } catch (error) {                                         // TeX that KaTeX cannot read stays TeX
    formula.textContent = tex;
    formula.classList.add("unread");
    formula.title = String(error.message ?? error);
  }
}

const folderOfScripts = () =>
  /** @type {HTMLElement} */ (document.querySelector('script[type="module"][src*="/js/"]')).src;

// The page's style sheet of KaTeX, for an element whose styles are its own.
const dressedRoots = new WeakSet();
/** @type {CSSStyleSheet | null} */
let sheet = null;

function dressed(root) {
  if (!root.adoptedStyleSheets || root === document || dressedRoots.has(root)) return;
  dressedRoots.add(root);
  if (!sheet) {
    sheet = new CSSStyleSheet();
    const rules = [...document.styleSheets].flatMap((each) => /** @type {CSSStyleRule[]} */ ([...each.cssRules]));
    sheet.replaceSync(rules.filter(({ selectorText }) => selectorText?.includes(".katex")).map(({ cssText }) => cssText).join("\n"));
  }
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
}
