import { assertEquals } from "@std/assert";
import type { AbuseProtectionOptions, TrustQuestion } from "../../exports/options.ts";
import type { KeyValue } from "../../exports/kv.ts";
import { resource, type ResourceOptions } from "../../mod.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { type Engine, engines } from "../support/engines.ts";
import { type Service, withService } from "../support/http.ts";
import { recorded } from "./batch_support.ts";
import { budget, type Note, notes, open } from "./guard_support.ts";

interface KeyedService extends Service {
  /** The number of writes to the storage of the keys. */
  keyWrites(): number;
  create(key: string, headers?: Record<string, string>): ReturnType<Service["send"]>;
}

function test(
  name: string,
  abuseProtection: AbuseProtectionOptions,
  options: Partial<ResourceOptions<Note>>,
  work: (service: KeyedService) => Promise<void>,
): void {
  for (const storage of ["kv", "db"] as const) {
    Deno.test(`${name} (${storage})`, async () => {
      const [engine] = engines;
      if (engine !== undefined) await withKeys(engine, storage, { abuseProtection, options }, work);
    });
  }
}

function withKeys(
  engine: Engine,
  storage: "kv" | "db",
  { abuseProtection, options }: {
    readonly abuseProtection: AbuseProtectionOptions;
    readonly options: Partial<ResourceOptions<Note>>;
  },
  work: (service: KeyedService) => Promise<void>,
): Promise<void> {
  const statements: string[] = [];
  const system = systemRuntime(() => {});
  // A lease of the budget holds for a second, which never ends here.
  const runtime = { ...system, clock: { ...system.clock, elapsedMs: () => 0 } };
  const memory = createMemoryKeyValue(runtime.clock);
  const kv: KeyValue = {
    ...memory,
    commit(commit) {
      const isOfKey = commit.mutations?.some(({ key }) => key[0] === "idempotency") ?? false;
      if (isOfKey) statements.push("commit _service_idempotency");
      return memory.commit(commit);
    },
  };
  return withService(engine, [notes], (db) => ({
    kv,
    runtime,
    idempotency: { storage },
    abuseProtection,
    resources: [
      resource(notes, { id: notes.id, auth: open, db: recorded(db, statements), ...options }),
    ],
  }), (service) =>
    work({
      ...service,
      keyWrites: () =>
        statements.filter((text) =>
          /^(commit|INSERT INTO|UPDATE|DELETE FROM) "?_service_idempotency/.test(text)
        ).length,
      create: (key, headers = {}) =>
        service.send("POST", "/api/notes", { title: "a" }, {
          "x-user": "ann",
          "idempotency-key": key,
          ...headers,
        }),
    }));
}

const pow = { secret: "a secret for the tests only", difficulty: 4 };

for (
  const [status, abuse] of [[429, { budget: budget(1) }], [428, {
    budget: budget(1),
    pow,
  }]] as const
) {
  test(
    `a keyed flood over the budget writes nothing to the storage of the keys (${status})`,
    abuse,
    {},
    async ({ create, keyWrites }) => {
      assertEquals((await create("k")).status, 201);
      assertEquals((await create("another")).status, status);
      const before = keyWrites();
      for (let n = 0; n < 20; n++) assertEquals((await create(`another ${n}`)).status, status);
      const replayed = await create("k");
      assertEquals([replayed.status, replayed.headers.get("idempotency-replayed")], [201, "true"]);
      assertEquals([before > 0, keyWrites()], [true, before]);
    },
  );
}

const trust = ({ user, base }: TrustQuestion) => user?.id === "friend" ? 0 : base;

test(
  "a keyed request that a gate refuses writes nothing to the storage of the keys",
  { pow },
  { pow: true },
  async ({ create, keyWrites }) => {
    for (let n = 0; n < 3; n++) assertEquals((await create("k")).status, 428);
    assertEquals(keyWrites(), 0);
  },
);

test(
  "of equal keyed requests that a gate admits, one is executed and paid for",
  { budget: budget(100), pow: { ...pow, trust } },
  { pow: true },
  async ({ create, get }) => {
    const friend = { "x-user": "friend" };
    const answers = await Promise.all(Array.from({ length: 20 }, () => create("k", friend)));
    const first = answers.filter(({ status, headers }) =>
      status === 201 && !headers.has("idempotency-replayed")
    );
    const others = answers.filter((answer) =>
      answer.body.code === "IDEMPOTENCY_IN_FLIGHT" || answer.headers.has("idempotency-replayed")
    );
    assertEquals([first.length, others.length], [1, 19]);
    const rest = await get("/api/notes/count", friend);
    assertEquals(rest.body, { count: 1 });
    assertEquals(rest.headers.get("ratelimit"), `"budget";r=98`);
  },
);
