import { readFile } from "node:fs/promises";
import folderOfSwaggerUi from "swagger-ui-dist/absolute-path.js";

/** Returns a file of the package `swagger-ui-dist`. Rejects if the package is not installed. */
export async function readSwaggerUi(name: string): Promise<string> {
  return await readFile(`${folderOfSwaggerUi()}/${name}`, "utf8");
}
