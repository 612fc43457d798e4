import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import * as v from "valibot";
import { z } from "zod";
import {
  all,
  createApp,
  openDatabase,
  Problem,
  type Procedure,
  procedure,
  resource,
  table,
  text,
} from "../../mod.ts";
import type { SchemaResult, StandardSchema } from "../../exports/options.ts";
import { type Engine, engines } from "../support/engines.ts";
import {
  hiddenMark,
  insertRows,
  type Service,
  testOnEngines,
  testOnEveryEngine,
  withService,
} from "../support/http.ts";
import { statement } from "../support/scratch.ts";

const notes = table("notes", {
  id: text().primaryKey(),
  title: text().notNull().unique(),
  status: text(),
});

const ada = { "x-user": "ada" };
const [someEngine] = engines;

/** A handwritten schema, of no library. */
function schema<Output>(
  validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>,
): StandardSchema<unknown, Output> {
  return { "~standard": { version: 1, vendor: "here", validate } };
}

const anything = schema((value) => ({ value }));

/** Returns its input. */
const echo = procedure({
  input: anything,
  output: anything,
  public: true,
  handler: (_context, input) => input,
});

function withProcedures(
  engine: Engine,
  procedures: Readonly<Record<string, Procedure>>,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  return withService(engine, [notes], () => ({
    resources: [
      resource(notes, { id: notes.id, auth: { public: true, create: () => all() }, procedures }),
    ],
  }), work);
}

/** The same where the engine is of no importance. */
function test(
  name: string,
  procedures: Readonly<Record<string, Procedure>>,
  work: (service: Service) => Promise<void>,
): void {
  Deno.test(name, async () => {
    if (someEngine !== undefined) await withProcedures(someEngine, procedures, work);
  });
}

/** The observed errors of failed requests, one in a line. */
function failures({ observations }: Service): string[] {
  return observations.flatMap((observation) =>
    observation.kind === "request_failed" ? [String(observation.error)] : []
  );
}

testOnEveryEngine(
  "a procedure writes in a transaction of its own, all or nothing",
  (engine) =>
    withProcedures(engine, {
      publish: procedure({
        input: z.object({ ids: z.array(z.string()).min(1) }),
        output: z.object({ published: z.number(), by: z.string() }),
        handler: async ({ db, user }, { ids }) => {
          const published = await db.transaction(async (transaction) => {
            let count = 0;
            for (const id of ids) {
              const { changed } = await transaction.query(
                statement(db.dialect, "UPDATE notes SET status = ? WHERE id = ?", "published", id),
              );
              if (changed === 0) throw new Problem("not-found", `Cannot publish: no note ${id}`);
              count += changed;
            }
            return count;
          });
          return { published, by: user.id, draft: "the output schema takes this away" };
        },
      }),
    }, async ({ db, get, send }) => {
      await insertRows(db, notes, [{ id: "a", title: "A" }, { id: "b", title: "B" }]);
      const refused = await send("POST", "/api/notes/rpc/publish", { ids: ["a", "gone"] }, ada);
      assertEquals(
        [refused.status, refused.body.detail],
        [404, "Cannot publish: no note gone"],
      );
      assertEquals((await get("/api/notes/a")).body.status, null);
      const answer = await send("POST", "/api/notes/rpc/publish", { ids: ["a", "b"] }, ada);
      assertEquals([answer.status, answer.body], [200, { data: { published: 2, by: "ada" } }]);
      assertEquals(answer.headers.get("cache-control"), "private, no-cache");
      assertEquals(answer.headers.get("content-type"), "application/json");
      assertEquals((await get("/api/notes/b")).body.status, "published");
    }),
);

testOnEngines(
  "a refusal of the database is answered as on every other route",
  (engine) =>
    withProcedures(engine, {
      add: procedure({
        input: z.string(),
        output: z.null(),
        handler: async ({ db }, title) => {
          const insert = "INSERT INTO notes (id, title) VALUES (?, ?)";
          await db.query(statement(db.dialect, insert, crypto.randomUUID(), title));
          return null;
        },
      }),
    }, async ({ send }) => {
      assertEquals((await send("POST", "/api/notes/rpc/add", '"x"', ada)).body, { data: null });
      const twice = await send("POST", "/api/notes/rpc/add", '"x"', ada);
      assertEquals(
        [twice.status, twice.body.detail],
        [409, "Cannot call add: another row has these values"],
      );
    }),
);

const zodMath = procedure({
  input: z.object({
    at: z.iso.datetime().transform((text) => new Date(text)),
    name: z.string().refine((name) => Promise.resolve(name !== "taken"), "is taken"),
    tags: z.array(z.object({ word: z.string() })).default([]),
  }),
  output: z.object({ year: z.number(), name: z.string(), tags: z.number() }),
  public: true,
  handler: (_context, { at, name, tags }) => ({
    year: at.getUTCFullYear(),
    name,
    tags: tags.length,
  }),
});

const valibotMath = procedure({
  input: v.pipeAsync(
    v.objectAsync({
      at: v.pipe(v.string(), v.isoTimestamp(), v.transform((text) => new Date(text))),
      name: v.pipeAsync(
        v.string(),
        v.checkAsync((name) => Promise.resolve(name !== "taken"), "is taken"),
      ),
      tags: v.optional(v.array(v.object({ word: v.string() })), []),
    }),
  ),
  output: v.object({ year: v.number(), name: v.string(), tags: v.number() }),
  public: true,
  handler: (_context, { at, name, tags }) => ({
    year: at.getUTCFullYear(),
    name,
    tags: tags.length,
  }),
});

test(
  "schemas of zod and valibot: transforms reach the handler, asynchronous checks are awaited",
  { zod: zodMath, valibot: valibotMath },
  async ({ send }) => {
    for (const library of ["zod", "valibot"]) {
      const call = (body: unknown) => send("POST", `/api/notes/rpc/${library}`, body);
      const fine = await call({ at: "2024-02-03T04:05:06Z", name: "ada" });
      assertEquals([fine.status, fine.body], [200, { data: { year: 2024, name: "ada", tags: 0 } }]);
      const bad = await call({ at: "yesterday", name: 5, tags: [{ word: "x" }, {}] });
      assertEquals(bad.status, 422, library);
      assertEquals(bad.body.code, "VALIDATION_ERROR");
      const errors: { path: string; message: string }[] = bad.body.details.errors;
      assertEquals(errors.map(({ path }) => path), ["at", "name", "tags.1.word"], library);
      assertEquals(errors.every(({ message }) => message.length > 0), true);
      const taken = await call({ at: "2024-02-03T04:05:06Z", name: "taken" });
      assertEquals([taken.status, taken.body.details.errors], [422, [
        { path: "name", message: "is taken" },
      ]]);
    }
  },
);

test("a handwritten schema: paths of every form, at most 100 faults, and none named", {
  fussy: procedure({
    input: schema<never>((value) => ({
      issues: value === "many"
        ? Array.from({ length: 500 }, (_, index) => ({ message: "no", path: [index] }))
        : value === "none"
        ? []
        : [
          { message: "m".repeat(10_000), path: ["a", 0, { key: "b" }] },
          { message: "as a whole" },
          { message: "by symbol", path: [Symbol("s")] },
        ],
    })),
    output: anything,
    public: true,
    handler: (_context, input) => input,
  }),
}, async ({ send }) => {
  const call = (body: string) => send("POST", "/api/notes/rpc/fussy", JSON.stringify(body));
  assertEquals((await call("some")).body.details.errors, [
    { path: "a.0.b", message: "m".repeat(300) },
    { path: "", message: "as a whole" },
    { path: "Symbol(s)", message: "by symbol" },
  ]);
  assertEquals((await call("many")).body.details.errors.length, 100);
  const none = await call("none");
  assertEquals([none.status, none.body.detail], [422, "Cannot use this body: is not valid"]);
});

test("any JSON value is an input, with all digits of its integers, and any is an output", {
  echo,
}, async ({ send }) => {
  for (const body of ["null", "true", "1.5", '"text"', "[1,[2]]", '{"a":null}', "{}", "[]"]) {
    const answer = await send("POST", "/api/notes/rpc/echo", body);
    assertEquals([answer.status, answer.body], [200, { data: JSON.parse(body) }]);
  }
  const { body } = await send("POST", "/api/notes/rpc/echo", '{"__proto__":{"a":1}}');
  assertEquals(Object.keys(body.data), ["__proto__"]);
});

Deno.test("integers beyond 2^53 keep their digits on the way in and out", async () => {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    resources: [resource(notes, { id: notes.id, procedures: { echo } })],
  });
  const answer = await app.fetch(
    new Request("http://test/api/notes/rpc/echo", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "[9007199254740993]",
    }),
  );
  assertEquals(await answer.text(), '{"data":[9007199254740993]}');
  await app.close();
});

test("without a usable JSON body a procedure is not called", {
  echo: procedure({
    ...echo,
    handler: () => {
      throw new Error("called");
    },
  }),
}, async ({ send }) => {
  const call = (body?: unknown, headers?: Record<string, string>) =>
    send("POST", "/api/notes/rpc/echo", body, headers);
  const deep = "[".repeat(40) + "]".repeat(40);
  assertEquals((await call()).status, 415);
  assertEquals((await call("{}", { "content-type": "text/plain" })).status, 415);
  assertEquals((await call("")).status, 400);
  assertEquals((await call("{")).status, 400);
  assertEquals((await call(deep)).status, 400);
  assertEquals((await call(`"${"x".repeat(1024 * 1024)}"`)).status, 413);
});

test("names are matched exactly, and only POST calls them", {
  echo,
  "v2.echo-all": echo,
}, async ({ get, send }) => {
  const status = async (name: string) => (await send("POST", `/api/notes/rpc${name}`, "1")).status;
  assertEquals(await status("/echo"), 200);
  assertEquals(await status("/echo/"), 200);
  assertEquals(await status("/v2.echo-all"), 200);
  const unknown = [
    ...["", "/", "/Echo", "/ech", "/%65cho", "/echo%00", "/echo/x", "/echo/restore", "/%zz"],
    ...["/constructor", "/__proto__", "/toString", "/hasOwnProperty", "/get", "/size", "/restore"],
  ];
  for (const name of unknown) assertEquals(await status(name), 404, name);
  assertEquals((await get("/api/notes/rpc")).status, 404);
  assertEquals((await get("/api/notes/rpc/constructor")).status, 404);
  for (const method of ["GET", "HEAD", "PUT", "PATCH", "DELETE"]) {
    const { status, headers } = await send(method, "/api/notes/rpc/echo");
    assertEquals([method, status, headers.get("allow")], [method, 405, "POST"]);
  }
});

test("users may call a procedure, anonymous callers a public one, whatever the scopes grant", {
  open: procedure({ ...echo, handler: ({ user }) => user?.id ?? null }),
  closed: procedure({
    input: anything,
    output: anything,
    public: false,
    handler: ({ user }) => user.id,
  }),
  unsaid: { input: anything, output: anything, handler: ({ user }) => user?.id },
}, async ({ send }) => {
  const call = async (name: string, headers: Record<string, string>, body = "1") => {
    const answer = await send("POST", `/api/notes/rpc/${name}`, body, headers);
    return answer.status === 200 ? answer.body.data : answer.status;
  };
  assertEquals([await call("open", {}), await call("open", ada)], [null, "ada"]);
  assertEquals([await call("closed", {}), await call("closed", ada)], [401, "ada"]);
  assertEquals([await call("unsaid", {}), await call("unsaid", ada)], [401, "ada"]);
  // Before the body is parsed.
  assertEquals([await call("closed", {}, "{"), await call("closed", ada, "{")], [401, 400]);
  const { headers } = await send("POST", "/api/notes/rpc/closed", "1");
  assertEquals(headers.get("www-authenticate"), "Bearer");
});

const secretValue = `${hiddenMark}value`;
test("an output that its schema refuses is a 500 that does not contain the value", {
  zod: procedure({
    input: anything,
    output: z.object({ title: z.literal(secretValue.slice(0, 3)), rest: z.number() }),
    public: true,
    // The types forbid it, but a program in JavaScript may do it.
    handler: () => ({ title: secretValue, rest: secretValue } as never),
  }),
  // This library quotes the received value in its messages.
  valibot: procedure({
    input: anything,
    output: v.object({ title: v.number() }),
    public: true,
    handler: () => ({ title: secretValue } as never),
  }),
}, async (service) => {
  for (const name of ["zod", "valibot"]) {
    const { status, body } = await service.send("POST", `/api/notes/rpc/${name}`, "1");
    assertEquals([status, body.code, "details" in body], [500, "INTERNAL_ERROR", false]);
  }
  assertEquals(failures(service), [
    'Error: The procedure "zod" of "notes" gave what its output schema refuses, at "title", "rest"',
    'Error: The procedure "valibot" of "notes" gave what its output schema refuses, at "title"',
  ]);
});

const cycle: unknown[] = [];
cycle.push(cycle);
const unwritable: Readonly<Record<string, unknown>> = {
  cycle,
  function: () => 1,
  symbol: Symbol("s"),
  deep: Array.from({ length: 100_000 }).reduce<unknown>((inner) => [inner], 1n),
};
test("an output that JSON cannot hold is a 500, any other is written as JSON", {
  give: procedure({ ...echo, handler: (_context, name) => unwritable[String(name)] }),
  nothing: procedure({ ...echo, handler: () => undefined }),
  mixed: procedure({
    ...echo,
    handler: () => ({ at: new Date(0), big: 12n, none: undefined, not: NaN }),
  }),
}, async (service) => {
  for (const name of Object.keys(unwritable)) {
    const { status } = await service.send("POST", "/api/notes/rpc/give", JSON.stringify(name));
    assertEquals([name, status], [name, 500]);
  }
  const message = 'Error: The procedure "give" of "notes" gave an output that JSON cannot hold';
  assertEquals(failures(service), Object.keys(unwritable).map(() => message));
  assertEquals((await service.send("POST", "/api/notes/rpc/nothing", "1")).body, { data: null });
  assertEquals((await service.send("POST", "/api/notes/rpc/mixed", "1")).body, {
    data: { at: "1970-01-01T00:00:00.000Z", big: 12, not: null },
  });
});

test(
  "an error of a handler or a schema is a 500 without its message, and a Problem is the answer",
  {
    broken: procedure({
      ...echo,
      handler: () => {
        throw new Error("the password of the broker is wrong");
      },
    }),
    schema: procedure({
      ...echo,
      input: schema(() => {
        throw new Error("a schema that throws");
      }),
    }),
    refuses: procedure({
      ...echo,
      handler: () => Promise.reject(new Problem("conflict", "Cannot publish: it is locked")),
    }),
  },
  async (service) => {
    const call = (name: string) => service.send("POST", `/api/notes/rpc/${name}`, "1");
    for (const name of ["broken", "schema"]) {
      const { status, body } = await call(name);
      assertEquals([status, body.detail], [500, "The service failed at this request"]);
    }
    assertEquals(failures(service), [
      "Error: the password of the broker is wrong",
      "Error: a schema that throws",
    ]);
    const { status, body } = await call("refuses");
    assertEquals([status, body.detail], [409, "Cannot publish: it is locked"]);
  },
);

Deno.test("mistakes in procedures fail the start with a sentence that names them", async () => {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  const sentence = async (procedures: unknown) => {
    // As an unchecked program may write it.
    const options = { id: notes.id, procedures } as never;
    const start = () =>
      createApp({ db, secret: "x".repeat(16), resources: [resource(notes, options)] });
    return (await assertRejects(start, Error)).message;
  };
  const fine = { input: anything, output: anything, handler: () => 1 };
  const cases: readonly [procedures: unknown, part: string][] = [
    [[], "procedures must be an object, not a list"],
    [{ go: () => 1 }, "procedures.go must be an object, not a function"],
    [{ go: { ...fine, price: 1 } }, 'procedures.go has no option "price"'],
    [{ go: { ...fine, cost: -1 } }, "procedures.go.cost must be 0, or a number from 0.001 on"],
    [{ go: { ...fine, pow: { difficulty: 99 } } }, "procedures.go.pow.difficulty must be"],
    [{ go: { ...fine, inptu: 1 } }, 'did you mean "input"?'],
    [{ go: { ...fine, input: "text" } }, "procedures.go.input must be a Standard Schema, as zod"],
    [
      { go: { ...fine, output: undefined } },
      "procedures.go.output is missing: it must be a Standard Schema",
    ],
    [{ go: { ...fine, handler: 1 } }, "procedures.go.handler must be a function, not 1"],
    [{ go: { ...fine, public: "yes" } }, "procedures.go.public must be true or false"],
    [{ "go/on": fine }, 'procedures names one "go/on": take letters'],
    [{ "..": fine }, 'procedures names one "..": take letters'],
    [{ "": fine }, 'procedures names one ""'],
  ];
  for (const [procedures, part] of cases) {
    const message = await sentence(procedures);
    assertStringIncludes(message, 'Cannot serve "notes": procedures');
    assertStringIncludes(message, part);
  }
  await db.close();
});

Deno.test("procedures are listed with the routes of their resource", async () => {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    resources: [resource(notes, { id: notes.id, procedures: { echo } })],
  });
  const routes = app.resources.flatMap(({ routes }) => routes);
  assertEquals(routes.filter(({ path }) => path.startsWith("/rpc")), [
    { path: "/rpc/echo", methods: ["POST"] },
  ]);
  await app.close();
});
