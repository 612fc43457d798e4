import { assert, assertEquals } from "@std/assert";
import { as, inBothWorlds, type Role } from "../http/role_worlds.ts";
import type { EventStream } from "../support/event_stream.ts";
import { type Service, testOnDialects } from "../support/http.ts";

/** What a role may follow; the last ones are refused where they name what is withheld. */
const paths = [
  ...["/subscribe", "/subscribe?include=team", "/subscribe?select=name,salary"],
  ...["/subscribe?filter=id<4", "/subscribe?include=team.people(select:name)"],
];
const refused = [
  ...["/subscribe?filter=salary>50", "/subscribe?include=mentor", "/subscribe?include=pupils"],
  ...["/subscribe?include=team(filter:budget>5)", "/aggregate/subscribe?max=salary"],
  ...["/aggregate/subscribe?groupBy=note", "/aggregate/subscribe?filter=ssn==0-1"],
  "/aggregate/subscribe?groupBy=id&having=max_salary>1",
];

/** Writes of the boss: the last one is to a row that every role sees. */
const writes = [
  ["PATCH", "/1", { salary: 5 }],
  ["PATCH", "/2", { note: "apple" }],
  ["PATCH", "/3", { mentorId: 4 }],
  ["PATCH", "/6", { name: "hidden", salary: 6 }],
  ["PATCH", "/4", { status: "draft" }],
  ["POST", "", { id: 30, name: "n", teamId: 1, status: "draft", ownerId: "boss", salary: 3 }],
  ["PATCH", "/30", { status: "published" }],
  ["PATCH", "/1", { name: "last" }],
] as const;

/**
 * All events up to the last write; positions are those of the log, with what is in no event. Where
 * rows are included, what a step of the log sends depends on how many writes it has: there it is that
 * of the row of the last write.
 */
async function eventsOf(stream: EventStream, path: string): Promise<string> {
  const events: (readonly [id: unknown, event: unknown])[] = [];
  for (;;) {
    const event = await stream.next();
    assert(event !== null);
    const { seq: _seq, ...data } = event.data ?? {};
    if (event.type !== "") events.push([data.id, data]);
    requireWithheld(JSON.stringify(data));
    if (data.item?.name !== "last") continue;
    return JSON.stringify(path.includes("include") ? data : events);
  }
}

function requireWithheld(text: string): void {
  assert(!/salary|apple|mentorId/.test(text), text);
}

async function followed(world: Service, role: Role, other: number): Promise<readonly string[]> {
  const streams: (readonly [path: string, stream: EventStream])[] = [];
  const texts: string[] = [];
  for (const at of ["people", "hashed"]) {
    for (const path of paths) {
      const stream = await world.subscribe(`/api/${at}${path}`, as(role));
      texts.push(JSON.stringify((await stream.untilSynced()).map(({ data }) => data.items)));
      streams.push([path, stream]);
    }
  }
  for (const [method, path, body] of writes) {
    // The withheld values differ between the worlds, here as well.
    const salary = "salary" in body ? { salary: body.salary + 100 * other } : {};
    await world.send(method, `/api/people${path}`, { ...body, ...salary }, as("boss"));
  }
  for (const [path, stream] of streams) {
    texts.push(await eventsOf(stream, path));
    await stream.close();
  }
  for (const query of ["count=true", "min=id&groupBy=status", "groupBy=name"]) {
    const stream = await world.subscribe(`/api/people/aggregate/subscribe?${query}`, as(role));
    texts.push(JSON.stringify(await stream.take(1)));
    await stream.close();
  }
  return texts;
}

for (const role of ["anonymous", "clerk"] as const) {
  testOnDialects(
    `no stream of ${role} depends on what is withheld from it`,
    (engine) =>
      inBothWorlds(engine, role, async ([left, right]) => {
        for (const path of refused) {
          for (const world of [left, right]) {
            assertEquals((await world.get(`/api/people${path}`, as(role))).status, 400, path);
          }
        }
        const [first, second] = [await followed(left, role, 0), await followed(right, role, 1)];
        assertEquals(first, second);
        first.forEach(requireWithheld);
      }),
  );
}
