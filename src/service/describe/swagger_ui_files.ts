import { readFile } from "node:fs/promises";
import folderOfSwaggerUi from "swagger-ui-dist/absolute-path.js";

/** The text of a file of the package `swagger-ui-dist`. Rejects where it is not installed. */
export async function readSwaggerUi(name: string): Promise<string> {
  return await readFile(`${folderOfSwaggerUi()}/${name}`, "utf8");
}
