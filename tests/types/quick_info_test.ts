import { assertEquals } from "@std/assert";
import { scratchFolder } from "../support/scratch.ts";
import { root } from "../repository/module_graph.ts";

const program = `
import { eq, integer, json, resource, table, text } from "${root}mod.ts";
const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().notNull(),
  status: text({ enum: ["draft", "done"] }).notNull().default("draft"),
  tags: json<string[]>(),
});
const filter = eq(notes.title, "first");
const title = notes.title;
type Note = typeof notes.$inferSelect;
type NewNote = typeof notes.$inferInsert;
resource(notes, {
  id: notes.id,
  hooks: { onAfterCreate: (_context, created) => console.log(created.title) },
});
`;

const row = '{ id: number; title: string; status: "draft" | "done"; tags: string[] | null; }';
const newRow =
  '{ title: string; id?: number | undefined; status?: "draft" | "done" | undefined; tags?: string[] | null | undefined; }';

/** What an editor shows for each of these names. */
const shown: Readonly<Record<string, string>> = {
  "notes =": `const notes: Table<"notes", ${row}, ${newRow}>`,
  "filter =": 'const filter: Filter<"notes">',
  "title =": 'const title: Column<string, "notes">',
  "Note =": `type Note = ${row}`,
  "NewNote =": `type NewNote = ${newRow}`,
  "created)": `(parameter) created: ${row}`,
};

Deno.test("editors show the rows of a table, and not the builders of its columns", async () => {
  await using folder = await scratchFolder();
  await Deno.writeTextFile(`${folder.path}/deno.json`, "{}");
  const document = { uri: `file://${folder.path}/program.ts` };
  await using server = startLanguageServer();
  await server.request("initialize", {
    processId: null,
    rootUri: `file://${folder.path}`,
    capabilities: {},
    initializationOptions: { enable: true },
  });
  server.notify("initialized", {});
  server.notify("textDocument/didOpen", {
    textDocument: { ...document, languageId: "typescript", version: 1, text: program },
  });
  const found: Record<string, string> = {};
  for (const name of Object.keys(shown)) {
    const before = program.slice(0, program.search(new RegExp(`\\b${RegExp.escape(name)}`)));
    const lines = before.split("\n");
    const position = { line: lines.length - 1, character: lines.at(-1)?.length };
    const hover = await server.request("textDocument/hover", { textDocument: document, position });
    const [, code = ""] = /```tsx\n([^]*?)\n```/.exec(markdownOf(hover)) ?? [];
    found[name] = code.replaceAll(/\s+/g, " ");
  }
  assertEquals(found, shown);
});

function markdownOf(hover: unknown): string {
  // The reply to such a request; another form of it makes the text wrong, and the test fail.
  const { contents } = hover as { contents?: { value?: string } };
  return contents?.value ?? "";
}

interface LanguageServer extends AsyncDisposable {
  request(method: string, params: unknown): Promise<unknown>;
  notify(method: string, params: unknown): void;
}

/** Deno's server of the Language Server Protocol, which editors ask. */
function startLanguageServer(): LanguageServer {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["lsp", "--quiet"],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  const waiting = new Map<number, (result: unknown) => void>();
  const done = (async () => {
    for await (const message of messages(child.stdout)) {
      // Its own requests have a method; editors may leave them without an answer.
      if (message.method === undefined) waiting.get(message.id ?? 0)?.(message.result);
    }
  })();
  let last = 0;

  function send(message: Readonly<Record<string, unknown>>): void {
    const body = new TextEncoder().encode(JSON.stringify({ jsonrpc: "2.0", ...message }));
    writer.write(new TextEncoder().encode(`Content-Length: ${body.length}\r\n\r\n`));
    writer.write(body);
  }
  function request(method: string, params: unknown): Promise<unknown> {
    const id = ++last;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    waiting.set(id, resolve);
    send({ id, method, params });
    return promise;
  }
  return {
    request,
    notify: (method, params) => send({ method, params }),
    async [Symbol.asyncDispose]() {
      await request("shutdown", null);
      send({ method: "exit" });
      await writer.close();
      await child.status;
      await done;
    },
  };
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly result?: unknown;
}

/** The messages of a stream: a header with the length, an empty line, JSON. */
async function* messages(stream: ReadableStream<Uint8Array>): AsyncIterable<Message> {
  // One character a byte, so that lengths in bytes are lengths of the text.
  let text = "";
  for await (const bytes of stream) {
    for (const byte of bytes) text += String.fromCharCode(byte);
    for (let head = headOf(text); head !== null; head = headOf(text)) {
      const end = head.start + head.length;
      if (text.length < end) break;
      const body = Uint8Array.from(text.slice(head.start, end), (char) => char.charCodeAt(0));
      yield JSON.parse(new TextDecoder().decode(body));
      text = text.slice(end);
    }
  }
}

function headOf(text: string): { readonly start: number; readonly length: number } | null {
  const found = /Content-Length: (\d+)\r\n(?:.*\r\n)*?\r\n/.exec(text);
  return found && { start: found.index + found[0].length, length: Number(found[1]) };
}
