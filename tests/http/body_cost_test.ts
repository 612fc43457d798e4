import { assert, assertEquals } from "@std/assert";
import { all, integer, json, resource, table, text } from "../../mod.ts";
import { type Service, testOnEngines, withService } from "../support/http.ts";
import type { Engine } from "../support/engines.ts";

const things = table("things", {
  id: text().primaryKey(),
  ownerId: text().as("owner_id"),
  rank: integer(),
  extra: json(),
});

interface Options {
  readonly maxFields?: number;
  readonly strictInput?: boolean;
  readonly batch?: { readonly create: number };
}

function withThings(
  engine: Engine,
  { maxFields, ...options }: Options,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  const open = { public: true, create: () => all(), update: () => all() };
  return withService(engine, [things], () => ({
    maxFields,
    resources: [
      resource(things, {
        id: things.id,
        auth: open,
        nestedWrites: true,
        relations: {
          parts: { type: "hasMany", resource: things, foreignKey: things.ownerId },
        },
        ...options,
      }),
    ],
  }), work);
}

const ada = { "x-user": "ada" };

/** Members of an object, as JSON, whose names are no fields. */
function unknown(count: number): string {
  return Array.from({ length: count }, (_, index) => `"k${index}":1`).join();
}

/** Each kind of write, with members beside the fields that it needs. */
const writes: readonly (readonly [string, string, (members: string) => string])[] = [
  ["POST", "/api/things", (members) => `{${members},"id":"new"}`],
  ["POST", "/api/things", (members) => `{"id":"around","parts":[{${members},"id":"in"}]}`],
  ["PATCH", "/api/things/new", (members) => `{${members},"rank":1}`],
  ["PUT", "/api/things/new", (members) => `{${members},"rank":1}`],
  ["POST", "/api/things/batch", (members) => `{"items":[{${members},"id":"b"}]}`],
  ["PUT", "/api/things/batch", (members) => `{"items":[{${members},"id":"b"}]}`],
  ["POST", "/api/things/batch/upsert", (members) => `{"items":[{${members},"id":"b"}]}`],
  ["PATCH", "/api/things/batch", (members) => `{"filter":"id==b","patch":{${members},"rank":1}}`],
];

/** How often members of the objects of a request are looked at: by name, or in a list of all. */
async function looksDuring(work: () => Promise<unknown>): Promise<number> {
  let looks = 0;
  const watched = (value: object): object =>
    new Proxy(value, {
      get(target, name, receiver) {
        if (!Array.isArray(target)) looks++;
        const member = Reflect.get(target, name, receiver);
        return typeof member === "object" && member !== null ? watched(member) : member;
      },
      getOwnPropertyDescriptor(target, name) {
        if (!Array.isArray(target)) looks++;
        const own = Reflect.getOwnPropertyDescriptor(target, name);
        const member: unknown = own?.value;
        return typeof member === "object" && member !== null
          ? { ...own, value: watched(member) }
          : own;
      },
    });
  const parse = JSON.parse;
  JSON.parse = (text, reviver) => {
    const value = parse(text, reviver);
    return typeof value === "object" && value !== null ? watched(value) : value;
  };
  try {
    await work();
  } finally {
    JSON.parse = parse;
  }
  return looks;
}

testOnEngines(
  "each check of a body went through its 90,000 unknown names again",
  (engine) =>
    withThings(engine, {}, async ({ send }) => {
      const count = 3_000;
      for (const [method, path, body] of writes) {
        const text = body(unknown(count));
        const looks = await looksDuring(() => send(method, path, text, ada));
        assert(looks < 1.1 * count, `${method} ${path} looked ${looks} times at ${count} names`);
      }
    }),
);

testOnEngines(
  "each unknown name of a body was an error of its own",
  (engine) =>
    withThings(engine, { strictInput: true }, async ({ send }) => {
      for (const [method, path, body] of writes) {
        const errors: string[] = [];
        const slice = String.prototype.slice;
        // Every message of an error is made from a name.
        String.prototype.slice = function (...range) {
          if (/^k\d+$/.test(String(this))) errors.push(String(this));
          return slice.apply(this, range);
        };
        let answer;
        try {
          answer = await send(method, path, body(unknown(3_000)), ada);
        } finally {
          String.prototype.slice = slice;
        }
        assertEquals([answer.status, answer.body.details.errors.length], [422, 100], path);
        assert(errors.length <= 100, `${method} ${path} made ${errors.length} errors`);
      }
    }),
);

testOnEngines(
  "a body of 90,000 fields held the service: it is refused unparsed",
  (engine) =>
    withThings(engine, {}, async ({ send }) => {
      for (const [method, path, body] of writes) {
        const text = body(unknown(90_000));
        const parse = JSON.parse;
        const parsed: string[] = [];
        JSON.parse = (text, reviver) => {
          parsed.push(text);
          return parse(text, reviver);
        };
        let answer;
        try {
          answer = await send(method, path, text, ada);
        } finally {
          JSON.parse = parse;
        }
        assertEquals([answer.status, answer.body.code], [413, "PAYLOAD_TOO_LARGE"], path);
        assertEquals(answer.body.details, { limit: 20_000 });
        assert(!parsed.includes(text));
      }
    }),
);

testOnEngines(
  "maxFields counts the fields of all objects, each as often as it is there",
  (engine) =>
    withThings(engine, { maxFields: 5 }, async ({ send }) => {
      const status = async (body: string) => (await send("POST", "/api/things", body, ada)).status;
      assertEquals(await status('{"id":"a","extra":{"a:b\\":,":[{"b":1},{"c":":::::"}]}}'), 201);
      assertEquals(await status('{"id":"b","extra":{"a":[{"b":1},{"c":1,"d":1}]}}'), 413);
      assertEquals(await status('{"id":"c","rank":1,"rank":1,"rank":1,"rank":1,"rank":1}'), 413);
      assertEquals(await status(`{"id":"d","extra":[${"1,".repeat(1_000)}1]}`), 201);
    }),
);

testOnEngines(
  "one number of a million digits kept the process busy: it is refused before it is parsed",
  (engine) =>
    withThings(engine, {}, async ({ send }) => {
      const create = (extra: string) =>
        send("POST", "/api/things", `{"id":"a${extra.length}","extra":${extra}}`, ada);
      const parse = JSON.parse;
      const parsed: string[] = [];
      JSON.parse = (...given: Parameters<typeof JSON.parse>) => {
        if (given[0].length > 900_000) parsed.push(given[0]);
        return parse(...given);
      };
      try {
        for (const number of ["9", "-9", "0.9", "1e9", "[9"]) {
          const { status, body } = await create(number.replace("9", "9".repeat(900_000)));
          assertEquals([status, body.code], [400, "INVALID_BODY"]);
        }
      } finally {
        JSON.parse = parse;
      }
      assertEquals(parsed, []);
      assertEquals((await create("9".repeat(1_000))).status, 201);
      assertEquals((await create(`"${"9".repeat(10_000)}"`)).status, 201);
    }),
);

testOnEngines(
  "the largest batch, with a value in every column, is within maxFields",
  (engine) =>
    withThings(engine, { batch: { create: 6_000 } }, async ({ send }) => {
      const items = Array.from({ length: 6_000 }, (_, index) => ({
        id: `i${index}`,
        ownerId: null,
        rank: index,
        extra: 1,
      }));
      const answer = await send("POST", "/api/things/batch", { items }, ada);
      assertEquals([answer.status, answer.body.items?.length], [201, 6_000]);
    }),
);
