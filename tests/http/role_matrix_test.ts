import { assert, assertEquals } from "@std/assert";
import { builtInOperators } from "../../src/filter/operators/operator_registry.ts";
import { type Answer, type Service, testOnDialects } from "../support/http.ts";
import { as, inBothWorlds, type Role } from "./role_worlds.ts";

interface Ask {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

const fieldNames = [
  "id",
  "name",
  "salary",
  "note",
  "ssn",
  "mentorId",
  "version",
  "ownerId",
  "file",
  "file.a",
];
const values = ["10", "a*", "(1,10)", "true"];

/** Every use of every field, in every place that takes a name. */
function reads(): readonly Ask[] {
  const paths: string[] = [];
  const filters = fieldNames.flatMap((name) =>
    builtInOperators.flatMap(({ symbols: [symbol] }) =>
      values.map((value) => `${name}${symbol}${value}`)
    )
  );
  for (const filter of filters) paths.push(`?filter=${encodeURIComponent(filter)}`);
  for (const name of ["name", ...fieldNames]) {
    const dotted = [`${name}==1`, `${name}!=1`, `${name}>5`, `${name}=isnull=true`];
    for (const one of dotted) {
      for (const path of ["team", "mentor", "pupils", "team.people", "team.people.mentor"]) {
        paths.push(`?filter=${path}.${one}`);
      }
      paths.push(`?filter=id>0;${one}`, `?filter=id<0,(${one})`, `/count?filter=${one}`);
      paths.push(`?include=team(filter:${one})`, `?include=team.people(filter:${one})`);
    }
    paths.push(`?orderBy=${name}`, `?orderBy=-${name}`, `?orderBy=name,${name}&limit=2`);
    paths.push(`?select=${name}`, `/1?select=${name}`, `?select=id,${name}&include=team`);
    paths.push(`?include=team.people(orderBy:${name})`, `?include=team.people(select:${name})`);
    paths.push(`/aggregate?groupBy=${name}`, `/aggregate?groupBy=${name}&orderBy=${name}`);
    for (const metric of ["min", "max", "sum", "avg"]) {
      paths.push(`/aggregate?${metric}=${name}`);
      paths.push(`/aggregate?groupBy=id&having=${metric}_${name}>5`);
      paths.push(`/aggregate?groupBy=id&orderBy=-${metric}_${name}`);
    }
  }
  for (const include of ["team", "mentor", "pupils", "team.people", "team(select:budget)"]) {
    paths.push(`?include=${include}`, `/1?include=${include}`);
  }
  for (const query of ["budget>20", "people.salary>5", "people.mentor.id==1", "people.name==n1"]) {
    paths.push(`?filter=team.${query}`, `/../teams?filter=${query}`);
  }
  paths.push("/../teams?orderBy=budget", "/../teams?include=people", "/../teams/1?select=budget");
  paths.push("/../teams/aggregate?max=budget", "/../teams?include=people(filter:note==apple)");
  for (const word of ["apple", "pie", "n1", "n*", "d0", "0"]) {
    paths.push(`/search?q=${word}`, `/search?q=${word}&highlight=true`);
    paths.push(`/search?q=n1&filter=note==${word}`);
  }
  for (const id of [...Array(13).keys()]) paths.push(`/${id}`);
  paths.push(
    "?offset=2&orderBy=salary",
    "?offset=1&limit=2",
    "",
    "/count",
    "?totalCount=true",
    "?totalCount=estimated",
    "?withDeleted=true",
  );
  paths.push("/aggregate", "/aggregate?count=true", "/../../__service/schema");
  const asks: Ask[] = paths.map((path) => ({ path }));
  for (const accept of ["text/csv", "application/x-ndjson"]) {
    for (const query of ["", "?select=salary,name", "?orderBy=salary", "?filter=note!=null"]) {
      asks.push({ path: query, headers: { accept } });
    }
  }
  for (const path of ["/1", "/6", ""]) asks.push({ method: "HEAD", path });
  return asks;
}

const draft = { name: "p", teamId: 1, status: "draft", ownerId: "clerk" };
const importTypes: Readonly<Record<string, string>> = {
  ndjson: "application/x-ndjson",
  csv: "text/csv",
};

/** Bodies that name what the role may not see, and writes by filters over it. */
function writes(): readonly Ask[] {
  const patch = (path: string, body: unknown, headers = {}) => ({
    ...{ method: "PATCH", path, body, headers },
  });
  const of = (filter: string) => [
    patch("/batch", { filter, patch: { name: "hit" } }),
    { method: "DELETE", path: "/batch", body: { filter } },
  ];
  return [
    ...["salary>5", "note==apple", "mentor.salary>5", "ssn=like=0*"].flatMap(of),
    patch("/5", { name: "m", salary: 7, ssn: "0-1", mentorId: 1, unknown: 1 }),
    patch("/5", { salary: "no number" }),
    patch("/6", { name: "x" }),
    patch("/12", { name: "x" }),
    { method: "PUT", path: "/5", body: { name: "p", teamId: 2, status: "draft", salary: 1 } },
    { method: "POST", path: "", body: { id: 20, ...draft } },
    {
      method: "POST",
      path: "",
      body: { id: 21, ...draft, mentor: { id: 22, ...draft } },
    },
    {
      method: "POST",
      path: "",
      body: { id: 1, ...draft, ssn: "1-1" },
    },
    {
      method: "POST",
      path: "/batch/upsert",
      body: { items: [{ id: 5, ...draft, note: "apple" }, { id: 23, ...draft, salary: 1 }] },
    },
    ...[
      ...[{ pupils: { connect: [1] } }, { pupils: { set: [] } }, { mentor: { connect: 1 } }],
      ...[{ mentor: { disconnect: true } }, { team: { connect: 2 } }, { team: { create: {} } }],
      ...[{ mentor: { create: { id: 40, ...draft } } }, { pupils: { disconnect: [2, 3] } }],
    ].map((body) => patch("/5", body)),
    ...["ndjson", "csv"].map((format) => ({
      ...{
        method: "POST",
        path: "/import",
        headers: { "content-type": importTypes[format] ?? "" },
      },
      body: format === "csv"
        ? "id,name,teamId,status,ownerId,salary\n50,i,1,draft,clerk,7\n51,i,2,draft,clerk,x\n"
        : [{ id: 52, ...draft, note: "apple" }, { id: 53, ...draft, ssn: "0-1" }].map((row) =>
          JSON.stringify(row)
        ).join("\n"),
    })),
    ...['"1"', 'W/"3"', 'W/"4"', "*"].flatMap((tag) => [
      patch("/5", { name: "t" }, { "if-match": tag }),
      patch("/6", { name: "t" }, { "if-match": tag }),
      { path: "/1", headers: { "if-none-match": tag } },
    ]),
  ];
}

/** What the answer shows, without the cursors, which are sealed with a random number each. */
function shown({ status, headers, body }: Answer): string {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const known = [...headers].filter(([name]) => name !== "content-length");
  return JSON.stringify([status, known, text.replace(/("nextCursor":")[^"]+/, "$1")]);
}

async function ask(service: Service, role: Role, at: string, one: Ask): Promise<Answer> {
  const { method = "GET", path, headers = {}, body } = one;
  const url = new URL(`/api/${at}${path}`, "http://test");
  return await service.send(method, url.pathname + url.search, body, { ...as(role), ...headers });
}

for (const role of ["anonymous", "clerk"] as const) {
  testOnDialects(
    `no answer to ${role} depends on what is withheld from it`,
    (engine) =>
      inBothWorlds(engine, role, async (worlds) => {
        const asked = [
          ...reads().map((one) => ["people", one] as const),
          ...reads().filter(({ path }) => /^$|^\/(search|\d)/.test(path)).map((one) =>
            ["hashed", one] as const
          ),
          ...writes().flatMap((one) => [["people", one] as const, ["hashed", one] as const]),
        ];
        const statuses = new Map<number, number>();
        for (const [at, one] of asked) {
          const [left, right] = await Promise.all(
            worlds.map((world) => ask(world, role, at, one)),
          );
          assert(left !== undefined && right !== undefined);
          assertEquals(shown(left), shown(right), `${at} ${JSON.stringify(one)}`);
          statuses.set(left.status, (statuses.get(left.status) ?? 0) + 1);
          if (typeof left.body?.nextCursor !== "string") continue;
          const { path } = one;
          const [next, other] = await Promise.all([left, right].map(({ body }, index) =>
            ask(worlds[index] as Service, role, at, {
              path: `${path}${path.includes("?") ? "&" : "?"}cursor=${body.nextCursor}`,
            })
          ));
          assertEquals(next && shown(next), other && shown(other), `after ${path}`);
        }
        for (const status of [200, 400, 404]) {
          assert((statuses.get(status) ?? 0) > 10);
        }
      }),
  );
}

testOnDialects(
  "tags of a role say nothing about what is withheld, and are no tags of another role",
  (engine) =>
    inBothWorlds(engine, "clerk", async (worlds) => {
      for (const at of ["people", "hashed"]) {
        const tags = await Promise.all(worlds.map(async (world) => {
          const tagOf = async (role: Role) =>
            (await ask(world, role, at, { path: "/5" })).headers.get("etag") ?? "";
          const [boss, clerk] = [await tagOf("boss"), await tagOf("clerk")];
          // What a cache has for one role is never confirmed for another.
          const read = (role: Role, tag: string) =>
            ask(world, role, at, { path: "/5", headers: { "if-none-match": tag } });
          const statuses = [
            (await read("clerk", boss)).status,
            (await read("boss", clerk)).status,
            (await read("clerk", clerk)).status,
          ];
          assertEquals([at, ...statuses], [at, 200, 200, 304]);
          return clerk;
        }));
        assertEquals(tags[0], tags[1]);
      }
      const [tag = ""] = await Promise.all(worlds.map(async (world) => {
        const before = (await ask(world, "clerk", "hashed", { path: "/5" })).headers.get("etag");
        const raise = { method: "PATCH", path: "/5", body: { salary: 77 } };
        assertEquals((await ask(world, "boss", "hashed", raise)).status, 200);
        return before ?? "";
      }));
      for (const world of worlds) {
        // The salary is no part of what the clerk has read, and of no write of the clerk.
        const write = { method: "PATCH", path: "/5", body: { name: "n" } };
        const headers = { "if-match": tag };
        assertEquals((await ask(world, "clerk", "hashed", { ...write, headers })).status, 200);
        assertEquals((await ask(world, "clerk", "hashed", { ...write, headers })).status, 412);
        // A version that the clerk sees is the row's, with the ending of the role or without.
        const versions = [
          'W/"3"',
          (await ask(world, "clerk", "people", { path: "/5" })).headers.get("etag") ?? "",
        ];
        assertEquals(
          (await ask(world, "clerk", "people", {
            ...write,
            headers: { "if-match": versions[1] ?? "" },
          })).status,
          200,
        );
        assertEquals(
          (await ask(world, "clerk", "people", { ...write, headers: { "if-match": 'W/"4"' } }))
            .status,
          200,
        );
        assertEquals(
          (await ask(world, "clerk", "people", {
            ...write,
            headers: { "if-match": versions[0] ?? "" },
          })).status,
          412,
        );
      }
    }),
);

testOnDialects(
  "the cursor of a role that sees more is worth nothing to one that sees less",
  (engine) =>
    inBothWorlds(engine, "clerk", async (worlds) => {
      const answers = await Promise.all(worlds.map(async (world) => {
        const path = "?orderBy=-salary&limit=2";
        const page = await ask(world, "boss", "people", { path });
        const cursor = `cursor=${page.body.nextCursor}`;
        assertEquals(
          (await ask(world, "boss", "people", { path: `${path}&${cursor}` })).status,
          200,
        );
        const tries = [`${path}&${cursor}`, `?${cursor}`, `?orderBy=name&${cursor}`];
        const texts: string[] = [];
        for (const path of tries) {
          const answer = await ask(world, "clerk", "people", { path });
          assertEquals([path, answer.status], [path, 400]);
          texts.push(shown(answer));
        }
        return texts;
      }));
      assertEquals(answers[0], answers[1]);
    }),
);
