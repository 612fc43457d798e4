import type { Database } from "../../mod.ts";
import type { Dice } from "./dice.ts";
import { roles, users } from "./fill.ts";
import type { State } from "./state.ts";

/** Changes members, roles, blocks, shares or the places of teams and projects by SQL. */
export async function turn(db: Database, state: State, dice: Dice, fresh: () => number) {
  const id = (rows: readonly { readonly [name: string]: unknown }[]) =>
    Number(dice.maybeOf(rows)?.["id"] ?? 0);
  const user = dice.of(users.slice(0, 5));
  const [team, project, task] = [id(state.teams), id(state.projects), id(state.tasks)];
  const member = id(state.members);
  const role = dice.of(roles);
  const write = dice.of([
    () => db.sql`UPDATE members SET role = ${role} WHERE id = ${member}`,
    () => db.sql`UPDATE members SET role = ${"admin"} WHERE id = ${member}`,
    () => db.sql`UPDATE members SET user_id = ${user} WHERE id = ${member}`,
    () => db.sql`UPDATE members SET team_id = ${team} WHERE id = ${member}`,
    () => db.sql`DELETE FROM members WHERE id = ${member}`,
    () =>
      db.sql`INSERT INTO members (id, team_id, user_id, role)
        VALUES (${fresh()}, ${team}, ${user}, ${role})`,
    () => db.sql`UPDATE teams SET org_id = ${id(state.orgs)} WHERE id = ${team}`,
    () => db.sql`UPDATE teams SET org_id = ${null} WHERE id = ${team}`,
    () => db.sql`UPDATE orgs SET owner_id = ${user} WHERE id = ${id(state.orgs)}`,
    () => db.sql`UPDATE projects SET team_id = ${team} WHERE id = ${project}`,
    () => db.sql`UPDATE projects SET is_public = ${dice.once(2)} WHERE id = ${project}`,
    () => db.sql`DELETE FROM projects WHERE id = ${project}`,
    () =>
      db.sql`INSERT INTO blocks (id, project_id, user_id) VALUES (${fresh()}, ${project}, ${user})`,
    () => db.sql`DELETE FROM blocks WHERE id = ${id(state.blocks)}`,
    () => db.sql`INSERT INTO shares (id, task_id, user_id) VALUES (${fresh()}, ${task}, ${user})`,
    () => db.sql`DELETE FROM shares WHERE id = ${id(state.shares)}`,
    () => db.sql`UPDATE tasks SET project_id = ${project} WHERE id = ${task}`,
    () => db.sql`UPDATE tasks SET author_id = ${user} WHERE id = ${task}`,
    () => db.sql`DELETE FROM taggings WHERE task_id = ${task}`,
  ]);
  await write();
}
