import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  createClient,
  type CreateClientOptions,
  ImportError,
  importFile,
  ServiceError,
} from "../../../exports/client.ts";
import { all, type App, createApp, type Database, integer, json } from "../../../mod.ts";
import { openDatabase, Problem, resource, table, text } from "../../../mod.ts";
import { systemRuntime } from "../../../src/runtime/system_runtime.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().notNull(),
  facts: json(),
});

interface Api {
  notes: {
    path: "/api/notes";
    key: number;
    row: { id: number; title: string; facts: unknown };
    create: { title: string };
    update: never;
    relations: Record<never, never>;
    etag: false;
    procedures: Record<never, never>;
  };
}

interface Importing {
  readonly app: App;
  readonly db: Database;
  client(options?: Partial<CreateClientOptions>): ReturnType<typeof createClient<Api>>;
  /** Resolves when the service has ended all requests. */
  ended(): Promise<unknown>;
}

/** Runs `work` with a service that listens, so that its clients can leave. */
async function withImports(work: (service: Importing) => Promise<void>): Promise<void> {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    runtime: systemRuntime(() => {}),
    auth: {
      middleware: async (context, next) => {
        const token = context.req.header("authorization");
        if (token === "Bearer old") throw new Problem("unauthorized", "old");
        context.set("user", { id: token ?? "ada" });
        await next();
      },
    },
    resources: [
      resource(notes, {
        id: notes.id,
        auth: { public: true, create: () => all() },
        capabilities: { enableImport: true, enableExport: true },
      }),
    ],
  });
  const responding: Promise<Response>[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request, info) => {
    const response = app.fetch(request, info);
    responding.push(response);
    return response;
  });
  const baseUrl = `http://127.0.0.1:${server.addr.port}`;
  try {
    await work({
      ...{ app, db },
      client: (options) => createClient<Api>({ baseUrl, ...options }),
      ended: () => Promise.all(responding),
    });
  } finally {
    await server.shutdown();
    await app.close();
    await db.close();
  }
}

const lineCount = 30_000;
// Some megabytes, of which the sockets hold only a part.
const long = "title\n" + `${"x".repeat(100)}\n`.repeat(lineCount);

Deno.test("a file is imported from a string, a blob and a stream, with its progress in bytes", () =>
  withImports(async ({ client, app, db }) => {
    const api = client();
    const sent: number[] = [];
    const total = long.length;
    const onProgress = (progress: { sent: number; total: number }) => {
      assertEquals(progress.total, total);
      sent.push(progress.sent);
    };
    const done = await importFile(api.notes, long, { onProgress });
    assertEquals(done, { rows: lineCount, written: lineCount });
    assertEquals([sent[0], sent.at(-1)], [0, total]);
    assert(sent.length > 10, `${sent.length} reports`);
    assertEquals(sent, sent.toSorted((a, b) => a - b));
    await db.query({ text: "DELETE FROM notes", values: [] });

    // A double cannot represent this number.
    const line = '{"id":1,"title":"é","facts":{"n":9007199254740993}}\n';
    const file = new File([line], "notes.ndjson");
    assertEquals(await importFile(api.notes, file), { rows: 1, written: 1 });
    const stream = new Blob(["title;ignored\nJam;1\n"]).stream();
    const options = { delimiter: ";", ignoreExtra: true } as const;
    assertEquals(await importFile(api.notes, stream, options), { rows: 1, written: 1 });
    const dry = await importFile(api.notes, "title\nTea\n", { dryRun: true });
    assertEquals(dry, { rows: 1, written: 0 });
    // A client in the same process.
    const own = createClient<Api>({ baseUrl: "http://test", fetch: app.fetch });
    assertEquals(await importFile(own.notes, "title\nTea\n", { onProgress() {} }), {
      ...{ rows: 1, written: 1 },
    });
    const { items } = await (await app.fetch(new Request("http://test/api/notes"))).json();
    assertEquals(items.map(({ title }: { title: string }) => title), ["é", "Jam", "Tea"]);
    const exported = await app.fetch(new Request("http://test/api/notes?format=ndjson&limit=1"));
    assertEquals(await exported.text(), line);
  }));

Deno.test("rows that the service refuses are errors with their lines", () =>
  withImports(async ({ client }) => {
    const api = client();
    const csv = "id,title\n1,Tea\n2,\nx,Jam\n";
    // Without types, `input.files[0]` of an input without a file.
    for (const none of [undefined, null, 5, {}]) {
      await assertRejects(() => importFile(api.notes, none as never), TypeError, "pass a File");
    }
    const refused = await assertRejects(() => importFile(api.notes, csv), ImportError);
    assertEquals([refused.name, refused.slug, refused.status], [
      ...["ImportError", "validation-error", 422],
    ]);
    assertEquals(refused.report.errors?.map(({ line, path }) => [line, path]), [[3, "title"], [
      4,
      "id",
    ]]);
    assertEquals([refused.report.written, await api.notes.count()], [0, 0]);
    const inChunks = { mode: "chunks", chunk: 1 } as const;
    const partly = await assertRejects(() => importFile(api.notes, csv, inChunks), ImportError);
    assertEquals([partly.report.rows, partly.report.written, await api.notes.count()], [3, 1, 1]);
    assertEquals(partly.report.unwritten, [{ from: 3, to: 4 }]);
    const separated = await assertRejects(() => importFile(api.notes, "id;title\n1;a\n"));
    assert(separated instanceof ImportError);
    assertEquals(separated.report.errors?.[0]?.option, { name: "delimiter", value: ";" });
    const wrong = await assertRejects(() => importFile(api.notes, csv, { encoding: "utf-9" }));
    assert(wrong instanceof ServiceError && !(wrong instanceof ImportError));
    assertEquals(wrong.slug, "invalid-parameter");
  }));

Deno.test("an import that its client cancels stores nothing, or whole chunks", () =>
  withImports(async ({ client, ended }) => {
    const api = client();
    for (const mode of ["all", "chunks"] as const) {
      const cancelling = new AbortController();
      const reason = new Error("cancelled");
      const onProgress = ({ sent }: { sent: number }) => {
        if (sent > 0) cancelling.abort(reason);
      };
      const { signal } = cancelling;
      const chunk = mode === "all" ? undefined : 100;
      const options = { mode, chunk, signal, onProgress };
      const error = await assertRejects(() => importFile(api.notes, long, options));
      assertEquals(error, reason);
      await ended();
      const count = await api.notes.count();
      assert(count < lineCount && (mode === "all" ? count === 0 : count % 100 === 0), `${count}`);
    }
    const early = AbortSignal.abort(new Error("early"));
    const never = () => new ReadableStream<Uint8Array<ArrayBuffer>>();
    await assertRejects(() => importFile(api.notes, never(), { signal: early }), Error, "early");
  }));

Deno.test("a file is sent again with a refreshed token", () =>
  withImports(async ({ client }) => {
    const api = client({ token: ({ refresh }) => refresh ? "new" : "old" });
    const sent: number[] = [];
    const onProgress = (progress: { sent: number }) => sent.push(progress.sent);
    // The service refuses the first request before the client has sent the whole file.
    const stream = new Blob([long]).stream();
    assertEquals((await importFile(api.notes, stream, { onProgress })).written, lineCount);
    assertEquals(sent.filter((bytes) => bytes === 0).length, 2);
    assertEquals(sent.at(-1), long.length);
  }));
