import { root } from "../repository/module_graph.ts";

/** The blocks of docs/rights.md, which form one program. */
export const rightsGuide: string = [
  ...Deno.readTextFileSync(`${root}docs/rights.md`).matchAll(/^```ts ignore\n([^]*?)^```$/gm),
].map(([, code]) => code).join("\n");
