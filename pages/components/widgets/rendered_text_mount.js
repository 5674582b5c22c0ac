import { mounted } from "../streamlit_patches/shared.js";
import { RenderedText } from "./rendered_text.js";

export default mounted(".rendered", (root) => new RenderedText(root));
