// How the scripts of the page, and their tests, are checked: `npm run lint --prefix tests/node`.
import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    rules: {
      eqeqeq: "error",
      "no-implicit-globals": "error",
      "no-shadow": ["error", { builtinGlobals: false, hoist: "functions" }],
      "no-unused-vars": ["error", { args: "all", argsIgnorePattern: "^_$", varsIgnorePattern: "^_$" }],
      "no-use-before-define": ["error", { functions: false, classes: false, variables: false }],
      "no-var": "error",
      "prefer-const": "error",
      "no-restricted-globals": ["error", "event", "name", "length", "top", "parent", "status", "find", "stop", "open", "close"],
    },
  },
  { files: ["pages/components/**", "conductor/report/**"], languageOptions: { globals: { ...globals.browser, vis: "readonly" } } },
  { files: ["tests/**"], languageOptions: { globals: globals.node } },
];
