import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { all, integer, resource, table } from "../../mod.ts";
import { type Fragment, sql } from "../../exports/sql.ts";
import { testOnEveryEngine, withService } from "../support/http.ts";

const v = 5;
const column = sql`"t"."n"`;

const misplaced: readonly (() => Fragment)[] = [
  () => sql`${column} = ${v}1`,
  () => sql`${column} = 1${v}`,
  () => sql`${column} = ${v}${v}`,
  () => sql`${column} = ${v}_`,
  () => sql`${column} = é${v}`,
  () => sql`${column} = ${v}.5`,
  () => sql`${column} = 1.${v}`,
  () => sql`${column} = t.${v}`,
  () => sql`${column}${v}`,
  () => sql`${v}${column}`,
  () => sql`${column} = $${v}`,
  () => sql`${column} = ${v}$`,
  () => sql`${column} = ${sql`${v}`}1`,
  () => sql`${column} = 1${sql`${v}`}`,
  () => sql`${sql`${column} = ${v}`}${sql`${v}`}`,
  () => sql`${sql`${column} = ${v}`}and 1`,
  () => sql`${column} = '${v}'`,
  () => sql`${column} = 'a ${v} b'`,
  () => sql`${column} = 'it''s ${v} b'`,
  () => sql`${column} = " ${v} "`,
  () => sql`${column} = \` ${v} \``,
  () => sql`${column} = $$ ${v} $$`,
  () => sql`${column} = $a$ ${v} $a$`,
  () => sql`${column} = $a$ ${v}`,
  () => sql`${column} = 5 -- ${v}`,
  () => sql`${column} = 5 -- ${v}\n`,
  () => sql`${column} = 5 /* ${v} */`,
  () => sql`${column} = 5 /* ${v}`,
  () => sql`${column} = ' ${v}`,
  () => sql`${column} = ${v} -- note`,
  () => sql(["a = ", "1"], v),
];

const right: readonly (() => Fragment)[] = [
  () => sql`${v}`,
  () => sql`${column} = ${v}`,
  () => sql`${column}=${v}`,
  () => sql`(${v})`,
  () => sql`${column} BETWEEN ${v} AND ${v}+1`,
  () => sql`${v}::text || ${v}`,
  () => sql`ARRAY[${v},${v}] && ARRAY[${v}]`,
  () => sql`list[1:${v}]`,
  () => sql`${column} = ${v} /* it's */ AND 'it''s -- $$' <> ${v}`,
  () => sql`a$1 = ${v}`,
  () => sql`tags ? ${"a"} AND -${v} < 0`,
  () => sql`${column} = ${v} -- it's\n`,
  () => sql`$$ it's $$ <> ${"a"}`,
  () => sql`e'it\\'s' <> ${"a"}`,
  () => sql`'\\' <> ${"a"}`,
  () => sql`${sql`${column} = ${v}`} AND ${sql`${v}`} = ${v}`,
  () => sql`"t".${column}`,
];

Deno.test("a value of a fragment that is no whole token is an error that names the place", () => {
  for (const make of misplaced) {
    const { message } = assertThrows(make, Error, "Cannot read the SQL: ", String(make));
    assertMatch(message, /: [^:]*(?:\$\{…\}|note)/, message);
  }
  for (const make of right) make();
});

testOnEveryEngine(
  "an operator whose value touches a digit gave rows with another value",
  (engine) => {
    const notes = table("notes", { id: integer().primaryKey(), n: integer() });
    const operators = [
      (c: Fragment, n: number) => sql`${c} = ${n}1`,
      (c: Fragment, n: number) => sql`${c} = '${n}'`,
      (c: Fragment, n: number) => sql`${c} = ${n}`,
    ];
    return withService(
      engine,
      [notes],
      () => ({
        resources: [
          resource(notes, {
            id: notes.id,
            auth: { public: { read: true }, create: () => all() },
            capabilities: { enableSubscribe: false },
            customOperators: Object.fromEntries(
              operators.map((toSql, index) => [`=op${"abc"[index]}=`, {
                toSql: (column, [n], dialect) => toSql(dialect.operand(column), Number(n)),
                matches: () => true,
              }]),
            ),
          }),
        ],
      }),
      async ({ send }) => {
        for (const n of [5, 51]) await send("POST", "/api/notes", { id: n, n }, { "x-user": "a" });
        const ask = async (operator: string) => {
          const { status, body } = await send("GET", `/api/notes?filter=n=${operator}=5`);
          return status === 200 ? body.items.length : status;
        };
        assertEquals([await ask("opa"), await ask("opb"), await ask("opc")], [500, 500, 1]);
      },
    );
  },
);
