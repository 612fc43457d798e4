import { assert, assertEquals } from "@std/assert";
import { and, eq, type User } from "../../mod.ts";
import { doorNames } from "../rights/doors.ts";
import { ofMembers, ofProjects, ofTeams, scopes } from "../rights/policies.ts";
import { callers } from "../rights/reads.ts";
import { runMatrix, type RunOptions } from "../rights/run.ts";
import { members, probes, tables, tasks } from "../rights/tables.ts";
import { cleared, type Scopes, type Work, worldConfig } from "../rights/world.ts";
import type { Engine } from "../support/engines.ts";
import { repeats } from "../support/repeats.ts";
import { type Service, testOnDialects, userHeader, withService } from "../support/http.ts";

const seed = Number(Deno.env.get("SEED") ?? 1);

function inWorld(
  engine: Engine,
  work: (options: Pick<RunOptions, "service" | "works" | "seed">) => Promise<void>,
  given?: Scopes,
): Promise<void> {
  const works = new Map<string, Work>();
  return withService(
    engine,
    [...Object.values(tables), probes],
    () => worldConfig(works, given),
    (service) => work({ service, works, seed }),
  );
}

testOnDialects(
  "every caller reads and writes exactly what the rules permit, through every door",
  (engine) =>
    inWorld(engine, async (options) => {
      const requests = repeats(1_200);
      const report = await runMatrix({ ...options, requests, perWorld: requests / 5 });
      assertEquals(report.found.map((one) => Deno.inspect(one, { depth: 9 })), []);
      // Each door and each operation has permitted and refused requests.
      const sums = new Map<string, { allowed: number; refused: number }>();
      for (const [name, { allowed, refused }] of report.cells) {
        for (const part of name.split(" ")) {
          const sum = sums.get(part) ?? { allowed: 0, refused: 0 };
          sums.set(part, { allowed: sum.allowed + allowed, refused: sum.refused + refused });
        }
      }
      for (const name of [...doorNames, "list", "get", "create", "update"]) {
        const { allowed = 0, refused = 0 } = sums.get(name) ?? {};
        assert(allowed > 0 && refused > 0, `${name}: ${allowed} allowed, ${refused} refused`);
      }
      for (const name of ["batch.update", "batch.upsert", "batch.delete", "import", "aggregate"]) {
        assert((sums.get(name)?.allowed ?? 0) > 0, `${name}: nothing is allowed`);
      }
      assert(report.quietPoints > 1_000, `${report.quietPoints} streams compared`);
    }),
);

/** Scopes with a fault, so that the matrix must find something. */
const faults: readonly (readonly [name: string, Partial<Scopes>])[] = [
  ["a blocked user sees the project", {
    projects: {
      ...scopes.projects,
      read: (user: User) => ofProjects.team.some(ofTeams.members.some(eq(members.userId, user.id))),
    },
  }],
  ["the role counts for another member", {
    members: {
      ...scopes.members,
      delete: (user: User) =>
        and(
          ofMembers.team.some(ofTeams.members.some(eq(members.userId, user.id))),
          ofMembers.team.some(ofTeams.members.some(eq(members.role, "admin"))),
        ),
    },
  }],
  ["an admin of the team may not change its tasks", {
    tasks: { ...scopes.tasks, update: (user: User) => eq(tasks.authorId, user.id) },
  }],
];

for (const [name, wrong] of faults) {
  Deno.test(`the matrix finds a wrong rule: ${name}`, async () => {
    const { engineOfEachDialect: [sqlite] } = await import("../support/engines.ts");
    assert(sqlite !== undefined);
    await inWorld(sqlite, async (options) => {
      const report = await runMatrix({
        ...{ ...options, requests: 600, perWorld: 100, streamsIn: 0 },
        onWorld: ({ found }) => found.length === 0,
      });
      assert(report.found.length > 0, "nothing is found");
    }, { ...scopes, ...wrong });
  });
}

testOnDialects(
  "descriptions of a caller name no withheld field and no resource that is closed to the caller",
  (engine) =>
    inWorld(engine, async ({ service }) => {
      for (const caller of callers) {
        const headers: Record<string, string> = caller === null ? {} : { [userHeader]: caller };
        const { body } = await service.get("/api/", { ...headers, accept: "application/json" });
        const text = JSON.stringify(body);
        const isCleared = caller !== null && cleared.includes(caller);
        for (const field of ["secret", "budget"]) {
          assertEquals(text.includes(`"${field}"`), isCleared, `${caller} ${field}`);
        }
        assertEquals(text.includes("/api/members"), caller !== null, String(caller));
        await refusesPaths(service, headers);
      }
    }),
);

/** Requires that streams refuse filters along relations. */
async function refusesPaths({ get }: Service, headers: Record<string, string>): Promise<void> {
  for (const filter of ["project.name==x", "shares.none()", "project.some(team.none())"]) {
    const answer = await get(`/api/tasks/subscribe?filter=${filter}`, headers);
    assertEquals([filter, answer.status], [filter, 400]);
  }
}
