import { mounted } from "../streamlit_patches/shared.js";
import { TextBlock } from "./text_block.js";

export default mounted(".text-block", (root) => new TextBlock(root));
