import { assertEquals } from "@std/assert";
import {
  all,
  createApp,
  openDatabase,
  Problem,
  procedure,
  type ProcedureContext,
  resource,
  table,
  text,
  type User,
} from "../../mod.ts";
import type { SchemaResult, StandardSchema } from "../../exports/options.ts";
import { charged, type CreditsLedger, openCreditsLedger } from "../../exports/billing.ts";

const notes = table("notes", { id: text().primaryKey() });

function schema<Output>(
  validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>,
): StandardSchema<unknown, Output> {
  return { "~standard": { version: 1, vendor: "here", validate } };
}

const anything = schema((value) => ({ value }));

/** Each output of a handler that costs 3 of 9, and what the call is then. */
const outcomes: Readonly<
  Record<string, { readonly give: () => unknown; readonly output: StandardSchema; status: number }>
> = {
  valid: { give: () => "tea", output: anything, status: 200 },
  nothing: { give: () => undefined, output: anything, status: 200 },
  throws: {
    give: () => {
      throw new Problem("conflict", "not now");
    },
    ...{ output: anything, status: 409 },
  },
  invalid: {
    give: () => "tea",
    output: schema(() => ({ issues: [{ message: "is no number" }] })),
    status: 500,
  },
  invalidLater: {
    give: () => "tea",
    output: schema(async () => {
      await Promise.resolve();
      return { issues: [{ message: "is no number" }] };
    }),
    status: 500,
  },
  schemaThrows: {
    give: () => "tea",
    output: schema(() => {
      throw new Error("a fault of the schema");
    }),
    status: 500,
  },
  noJson: { give: () => ({ toJSON: () => undefined }), output: anything, status: 500 },
  cycle: {
    give: () => {
      const ring: { self?: unknown } = {};
      return Object.assign(ring, { self: ring });
    },
    ...{ output: anything, status: 500 },
  },
  tooLarge: { give: () => "x".repeat(40_000_000), output: anything, status: 422 },
};

function proceduresOf(credits: CreditsLedger) {
  const own = charged(
    credits,
    { amount: 3, account: () => "ada" },
    (context: ProcedureContext<User | null>) => {
      context.onEnd(() => {
        throw new Error("a fault of the deployer");
      });
      return "tea";
    },
  );
  return {
    ...Object.fromEntries(
      Object.entries(outcomes).map(([name, { give, output }]) => {
        const handler = charged(credits, { amount: 3, account: () => "ada" }, give);
        return [name, procedure({ input: anything, output, public: true, handler })];
      }),
    ),
    endThrows: procedure({ input: anything, output: anything, public: true, handler: own }),
    endThrowsInvalid: procedure({
      ...{ input: anything, public: true, handler: own },
      output: schema(() => ({ issues: [{ message: "is no number" }] })),
    }),
  };
}

async function inApp(
  work: (
    call: (name: string, key?: string) => Promise<number>,
    credits: CreditsLedger,
  ) => Promise<void>,
): Promise<void> {
  const db = await openDatabase("sqlite::memory:");
  await db.migrate([notes]);
  const credits = await openCreditsLedger({ kv: ":memory:" });
  const app = await createApp({
    db,
    secret: "sixteen or more characters",
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "ada" });
        await next();
      },
    },
    resources: [
      resource(notes, {
        id: notes.id,
        auth: { public: true, read: () => all() },
        procedures: proceduresOf(credits),
      }),
    ],
  });
  try {
    await work(async (name, key) => {
      const answer = await app.fetch(
        new Request(`http://localhost/api/notes/rpc/${name}`, {
          method: "POST",
          body: "null",
          headers: {
            "content-type": "application/json",
            ...key === undefined ? {} : { "idempotency-key": key },
          },
        }),
      );
      await answer.body?.cancel();
      return answer.status;
    }, credits);
  } finally {
    await app.close();
    await credits.close();
  }
}

Deno.test("a charged procedure keeps its credits only where its output is the answer", async () => {
  for (const [name, { status }] of Object.entries(outcomes)) {
    await inApp(async (call, credits) => {
      await credits.grant("ada", 9);
      assertEquals([name, await call(name)], [name, status]);
      const left = status === 200 ? 6 : 9;
      assertEquals([name, await credits.balance("ada")], [name, left]);
      assertEquals((await credits.audit("ada"))[0]?.reserved, 0, name);
    });
  }
});

Deno.test("a repetition of a charged call that failed costs nothing, and of one that succeeded once", async () => {
  await inApp(async (call, credits) => {
    await credits.grant("ada", 9);
    for (let n = 0; n < 3; n++) assertEquals(await call("invalid", "key-1"), 500);
    assertEquals(await credits.balance("ada"), 9);
    for (let n = 0; n < 3; n++) assertEquals(await call("valid", "key-2"), 200);
    assertEquals(await credits.balance("ada"), 6);
    const statuses = await Promise.all(Array.from({ length: 8 }, () => call("invalid")));
    assertEquals(statuses.filter((status) => status === 200), []);
    assertEquals(await credits.balance("ada"), 6);
  });
});

Deno.test("work for the end of a call that throws fails the call, which then costs nothing", async () => {
  for (const name of ["endThrows", "endThrowsInvalid"]) {
    await inApp(async (call, credits) => {
      await credits.grant("ada", 9);
      assertEquals([name, await call(name)], [name, 500]);
      assertEquals([name, await credits.balance("ada")], [name, 9]);
    });
  }
});
