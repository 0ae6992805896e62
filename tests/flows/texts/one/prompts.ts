import path from "node:path";
import { createPromptLoader, loadPromptFile, moduleDir, resolveBaseDir } from "@flow-state-dev/core/prompt-file/node";

const root = resolveBaseDir([moduleDir(import.meta.url, "./prompts"), path.resolve(process.cwd(), "prompts")], { expect: "_partials" });
const partialsDir = path.join(root, "_partials");

export const loaded = createPromptLoader(root, { partialsDir })("main.prompt.md");
export const beside = loadPromptFile("./prompts/main.prompt.md", import.meta.url, { partialsDir });
