import { assertEquals } from "@std/assert";
import openapiTS, { astToString } from "openapi-typescript";
import { startChild } from "../serve/child_process.ts";
import { scratchFolder } from "../support/scratch.ts";

const root = new URL("../../", import.meta.url).pathname;

/** Reads, writes and pages by the types that another project generates from the document. */
const program = (url: string, token: string) => `
import createClient from "openapi-fetch";
import type { components, paths } from "./api.d.ts";

const client = createClient<paths>({
  baseUrl: ${JSON.stringify(url)},
  headers: { authorization: ${JSON.stringify(`Bearer ${token}`)} },
});
const titles: string[] = [];
let cursor: string | undefined;
do {
  const query = { limit: 5, orderBy: "title", select: ["title"], ...(cursor ? { cursor } : {}) };
  const { data, error } = await client.GET("/api/books", { params: { query } });
  if (data === undefined) throw new Error(error.title);
  // A list may also be an export, which is text.
  if (typeof data === "string") throw new Error("It is JSON unless asked otherwise");
  for (const { title } of data.items) titles.push(title ?? "");
  cursor = data.nextCursor ?? undefined;
} while (cursor !== undefined);

const body: components["schemas"]["BooksCreate"] = {
  authorId: 1, title: "The Telling", published: 2000, pages: 264,
};
const created = await client.POST("/api/books", { body });
const id = created.data?.id ?? 0;
const etag = created.response.headers.get("etag") ?? "";
const path = { id };
const patched = await client.PATCH("/api/books/{id}", {
  params: { path, header: { "If-Match": etag } },
  body: { rating: 4.5 },
});
const lost = await client.PATCH("/api/books/{id}", {
  params: { path, header: { "If-Match": etag } },
  body: { rating: 1 },
});
// @ts-expect-error: a book has a number of pages
void (() => client.POST("/api/books", { body: { ...body, pages: "many" } }));
// @ts-expect-error: there is no such path
void (() => client.GET("/api/nothing"));
console.log(JSON.stringify([titles.length, patched.data?.rating, lost.error?.code]));
`;

Deno.test("a generated client compiles, and reads, writes and pages", async () => {
  await using folder = await scratchFolder();
  await using child = startChild([`${root}cli.ts`, "--port", "0"], { cwd: folder.path });
  const [, token = ""] = await child.printed(/Bearer ([\w-]+)/);
  const [, url = ""] = await child.printed(/(http:\/\/[^/]+)\/healthz/);
  const document = await (await fetch(`${url}/__service/openapi.json`)).json();
  await Deno.writeTextFile(`${folder.path}/api.d.ts`, astToString(await openapiTS(document)));
  await Deno.writeTextFile(`${folder.path}/main.ts`, program(url, token));
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--check", "--config", `${root}deno.json`, "main.ts"],
    cwd: folder.path,
    env: { NO_COLOR: "1" },
  }).output();
  const printed = new TextDecoder().decode(stdout);
  assertEquals(success, true, printed + new TextDecoder().decode(stderr));
  assertEquals(JSON.parse(printed), [12, 4.5, "PRECONDITION_FAILED"]);
});
