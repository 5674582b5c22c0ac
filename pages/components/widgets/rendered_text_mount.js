export default mounted(".rendered", (root) => new RenderedText(root));
