import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { scratchFolder } from "../support/scratch.ts";
import { rightsGuide } from "./rights_guide.ts";
import { root } from "../repository/module_graph.ts";

async function run(source: string): Promise<{ readonly isOk: boolean; readonly output: string }> {
  await using folder = await scratchFolder();
  await Deno.writeTextFile(`${folder.path}/guide.ts`, source);
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--config", `${root}deno.json`, `${folder.path}/guide.ts`],
    env: { NO_COLOR: "1" },
    stdout: "null",
    stderr: "piped",
  }).output();
  return { isOk: success, output: new TextDecoder().decode(stderr) };
}

Deno.test("the program of docs/rights.md runs, and its rights are those of its tables", async () => {
  const { isOk, output } = await run(rightsGuide);
  assert(isOk, output);
});

/** Changes of policies of the guide, and a difference that its tables then show. */
const mutants: readonly (readonly [from: string, to: string, message: string])[] = [
  [
    "eq(notes.ownerId, user.id))",
    "or(eq(notes.ownerId, user.id), all()))",
    "eve: read is permitted",
  ],
  ["delete: ownNote, ", "", "ann: delete is denied"],
  [
    "and(eq(members.userId, user.id), inList(members.role, roles))",
    "eq(members.userId, user.id)",
    [
      '"team 1":',
      "  ed: update is permitted, but not expected",
      "  ed: delete is permitted, but not expected",
    ].join("\n"),
  ],
  [
    "or(ownTask(user), ofTasks.team.some(admin(user)))",
    "ownTask(user)",
    "ann: delete is denied",
  ],
  ['eq(members.role, "viewer"),', "", "ida: create is permitted"],
  ["    eq(members.userId, user.id),\n", "", '"Eve as a viewer":\n  ida: create is permitted'],
  [
    "ofTeams.invitations.some(eq(invitations.email, user.email))",
    "ofTeams.invitations.some()",
    "eve: create is permitted",
  ],
  ["update: manager", "update: leaving", "vic: update is permitted"],
  [', eq(shares.access, "edit")', "", "vic: update is permitted"],
  ["eq(links.token, claims?.link)", "", "oldLink: read is permitted"],
  ['eq(albums.status, "published")', "all()", "anonymous: read is permitted"],
  ["isAdmin(user) ? all() : none()", "all()", "eve: delete is permitted"],
  ["isPayroll(user) ? everyColumn : publicColumns", "everyColumn", "eve: read.salary is permitted"],
  [
    "[people.name, people.salary] : [people.name]",
    "everyColumn : everyColumn",
    [
      '"another salary for Ann":',
      "  ann: update is permitted",
    ].join("\n"),
  ],
];

Deno.test("a changed policy of docs/rights.md is found by its tables", async () => {
  for (const [from, to, message] of mutants) {
    assertEquals(rightsGuide.split(from).length, 2, `${from} occurs once`);
    const { isOk, output } = await run(rightsGuide.replace(from, to));
    assert(!isOk, `the guide passes with ${to} instead of ${from}`);
    assertStringIncludes(output, message, from);
  }
});
