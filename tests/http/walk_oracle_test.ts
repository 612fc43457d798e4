import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { integer, resource, type ResourceDefinition, table, text } from "../../mod.ts";
import { insertRows, type Service, testOnEngines, withService } from "../support/http.ts";

// A failure is found again by `SEED=… deno task test tests/http/walk_oracle_test.ts`.
const seed = Number(Deno.env.get("SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]! >>> 1);

const people = table("people", {
  id: integer().primaryKey(),
  name: text(),
  bossId: integer().as("boss_id"),
  /** As a text, which other texts may equal; none of them is unique. */
  team: text(),
});
const knows = table("knows", {
  id: integer().primaryKey(),
  fromId: integer().as("from_id"),
  toId: integer().as("to_id"),
});

type Person = {
  readonly id: number;
  readonly name: string | null;
  readonly bossId: number | null;
  readonly team: string | null;
};

interface World {
  readonly people: readonly Person[];
  readonly knows: readonly { readonly fromId: number | null; readonly toId: number | null }[];
}

/** There and back over each relation, and between rows of which neither key is unique. */
const relations = {
  boss: { type: "belongsTo", resource: "people", foreignKey: "bossId", filterable: true },
  reports: { type: "hasMany", resource: "people", foreignKey: "bossId", filterable: true },
  mates: {
    type: "hasMany",
    resource: "people",
    foreignKey: "team",
    references: "team",
    filterable: true,
  },
  friends: {
    type: "manyToMany",
    resource: "people",
    through: knows,
    foreignKey: "fromId",
    references: "toId",
    filterable: true,
  },
} as const;

type Name = keyof typeof relations;

const related: Readonly<Record<Name, (person: Person, world: World) => readonly Person[]>> = {
  boss: ({ bossId }, { people }) => people.filter(({ id }) => id === bossId),
  reports: ({ id }, { people }) => people.filter(({ bossId }) => bossId === id),
  mates: ({ team }, { people }) => people.filter((other) => team !== null && other.team === team),
  friends: ({ id }, { people, knows }) =>
    knows.filter(({ fromId }) => fromId === id)
      .flatMap(({ toId }) => people.filter((other) => other.id === toId)),
};

/** A filter as text, and by brute force. */
interface Walked {
  readonly text: string;
  /** The largest number of relations in a row. */
  readonly steps: number;
  /** As SQL decides: null where a value is missing. */
  passes(person: Person, world: World): boolean | null;
}

const comparisons = fc.constantFrom<Walked>(
  { text: "name==ada", steps: 0, passes: ({ name }) => name === null ? null : name === "ada" },
  { text: "name!=ada", steps: 0, passes: ({ name }) => name === null ? null : name !== "ada" },
  { text: "name==null", steps: 0, passes: ({ name }) => name === null },
  { text: "team==red", steps: 0, passes: ({ team }) => team === null ? null : team === "red" },
  { text: "bossId!=null", steps: 0, passes: ({ bossId }) => bossId !== null },
  { text: "id<=4", steps: 0, passes: ({ id }) => id <= 4 },
);
const paths = fc.array(fc.constantFrom<Name>("boss", "reports", "mates", "friends"), {
  minLength: 1,
  maxLength: 3,
});

/** The rows that a path reaches, over all steps. */
function reached(path: readonly Name[], person: Person, world: World): readonly Person[] {
  return path.reduce<readonly Person[]>(
    (rows, name) => rows.flatMap((row) => related[name](row, world)),
    [person],
  );
}

const walks: fc.Arbitrary<Walked> = fc.tuple(paths, comparisons).map(([path, last]) => ({
  text: `${path.join(".")}.${last.text}`,
  steps: path.length,
  passes: (person, world) =>
    reached(path, person, world).some((other) => last.passes(other, world) === true),
}));

function grouped(terms: readonly Walked[], kind: "and" | "or"): Walked {
  const [decisive, separator] = kind === "and" ? [false, ";"] : [true, ","];
  return {
    text: `(${terms.map(({ text }) => text).join(separator)})`,
    steps: Math.max(...terms.map(({ steps }) => steps)),
    passes(person, world) {
      const results = terms.map(({ passes }) => passes(person, world));
      if (results.includes(decisive)) return decisive;
      return results.includes(null) ? null : !decisive;
    },
  };
}

function quantified(quantifier: "some" | "none" | "every", path: readonly Name[], term: Walked) {
  return {
    text: `${path.join(".")}.${quantifier}(${term.text})`,
    steps: path.length + term.steps,
    passes(person: Person, world: World) {
      const results = reached(path, person, world).map((row) => term.passes(row, world) === true);
      if (quantifier === "every") return !results.includes(false);
      return results.includes(true) === (quantifier === "some");
    },
  };
}

/** At most three relations in a row, as the service permits. */
const filters: fc.Arbitrary<Walked> = fc.letrec<{ tree: Walked }>((tie) => ({
  tree: fc.oneof(
    { depthSize: "small" },
    { weight: 2, arbitrary: comparisons },
    { weight: 2, arbitrary: walks },
    {
      weight: 3,
      arbitrary: fc.tuple(
        fc.array(tie("tree"), { minLength: 1, maxLength: 3 }),
        fc.constantFrom("and" as const, "or" as const),
      ).map(([terms, kind]) => grouped(terms, kind)),
    },
    {
      weight: 2,
      arbitrary: tie("tree").map(({ text, steps, passes }) => ({
        text: `not(${text})`,
        steps,
        passes: (person: Person, world: World) => passes(person, world) !== true,
      })),
    },
    {
      weight: 4,
      arbitrary: fc.tuple(
        fc.constantFrom("some" as const, "none" as const, "every" as const),
        paths,
        tie("tree"),
      ).map(([quantifier, path, term]) => quantified(quantifier, path, term)),
    },
  ),
})).tree.filter(({ steps }) => steps <= 3);

const key = fc.option(fc.integer({ min: 1, max: 10 }), { freq: 4 });
const worlds: fc.Arbitrary<World> = fc.record({
  people: fc.array(
    fc.record({
      name: fc.option(fc.constantFrom("ada", "bob"), { freq: 4 }),
      bossId: key,
      team: fc.option(fc.constantFrom("red", "Red", "10"), { freq: 4 }),
    }),
    { minLength: 4, maxLength: 9 },
  ).map((rows) => rows.map((row, index) => ({ id: index + 1, ...row }))),
  knows: fc.array(fc.record({ fromId: key, toId: key }), { maxLength: 9 }),
});

const definitions: readonly ResourceDefinition[] = [
  resource(people, {
    id: people.id,
    auth: { public: { read: true, subscribe: true } },
    relations,
  }),
];

testOnEngines(
  `random walks and quantifiers pass the rows that brute force finds, seed ${seed}`,
  (engine) =>
    withService(
      engine,
      [people, knows],
      () => ({ basePath: "/api", resources: definitions }),
      async (service) => {
        for (const world of fc.sample(worlds, { seed, numRuns: 6 })) {
          await replaceRows(service, world);
          for (const { text, passes } of fc.sample(filters, { seed, numRuns: 120 })) {
            const expected = world.people.filter((person) => passes(person, world) === true)
              .map(({ id }) => id);
            const filter = encodeURIComponent(text);
            const { status, body } = await service.get(`/api/people?orderBy=id&filter=${filter}`);
            assertEquals(status, 200, `${text} ${JSON.stringify(body)}`);
            assertEquals(
              body.items.map(({ id }: Person) => id),
              expected,
              `${text} of ${JSON.stringify(world)}`,
            );
            const some = expected.at(-1) ?? 1;
            const counted = await service.get(
              `/api/people/count?filter=id==${some};(${filter})`,
            );
            assertEquals(counted.body.count, expected.length === 0 ? 0 : 1, text);
          }
        }
      },
    ),
);

async function replaceRows({ db }: Service, world: World): Promise<void> {
  for (const name of ["people", "knows"]) {
    await db.query({ text: `DELETE FROM ${name}`, values: [] });
  }
  await insertRows(db, people, world.people);
  await insertRows(db, knows, world.knows.map((row, id) => ({ id, ...row })));
}
