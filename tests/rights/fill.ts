import type { Database } from "../../mod.ts";
import { insertRows } from "../support/http.ts";
import type { Dice } from "./dice.ts";
import type { Row, State } from "./state.ts";
import { type TableName, tableNames, tables } from "./tables.ts";

export const users: readonly string[] = ["ada", "bob", "cid", "dee", "eve", "root"];
export const roles: readonly (string | null)[] = ["admin", "member", "guest", null];
export const statuses: readonly (string | null)[] = ["open", "locked", "done", null];
const words = ["alpha", "beta", "gamma", "delta"];

/** Returns a text that identifies its row in every answer. */
export const mark = (table: TableName, id: unknown, dice: Dice): string =>
  `${table}#${id} ${dice.of(words)} ${dice.of(words)}`;
export const budgetOf = (id: unknown): number => 7_000_000 + Number(id);
export const secretOf = (id: unknown): string => `hush#${id}`;

/** Draws a row. Most of its references lead to existing rows. */
export function newRow(table: TableName, id: number, state: State, dice: Dice): Row {
  const to = (name: TableName, odds = 9) =>
    dice.once(odds) ? null : dice.maybeOf(state[name])?.["id"] ?? null;
  const must = (name: TableName) => to(name, 1e9) ?? 999;
  const user = () => dice.of(users.slice(0, 5));
  switch (table) {
    case "orgs":
      return {
        ...{ id, name: mark(table, id, dice), ownerId: user() },
        frozen: dice.of([true, false, false, false, null]),
      };
    case "teams":
      return { id, name: mark(table, id, dice), orgId: to("orgs") };
    case "members":
      return {
        ...{ id, teamId: must("teams"), userId: user() },
        role: dice.of(["admin", "admin", ...roles]),
      };
    case "projects":
      return {
        ...{ id, name: mark(table, id, dice), teamId: to("teams"), budget: budgetOf(id) },
        isPublic: dice.of([true, false, false, null]),
      };
    case "blocks":
      return { id, projectId: must("projects"), userId: user() };
    case "tasks":
      return {
        ...{ id, projectId: to("projects"), authorId: user(), title: mark(table, id, dice) },
        ...{ status: dice.of(statuses), points: dice.of([1, 2, 3, 5, null]) },
        ...{ secret: dice.once(4) ? null : secretOf(id), version: 1 },
      };
    case "comments":
      return { id, taskId: to("tasks"), authorId: user(), body: mark(table, id, dice) };
    case "shares":
      return { id, taskId: must("tasks"), userId: user() };
    case "labels":
      return { id, name: mark(table, id, dice) };
    case "taggings":
      return { taskId: must("tasks"), labelId: must("labels"), byId: dice.of([...users, null]) };
  }
}

const counts: Readonly<Record<TableName, number>> = {
  ...{ orgs: 3, teams: 5, members: 13, projects: 8, blocks: 5, tasks: 24, comments: 16 },
  ...{ shares: 8, labels: 3, taggings: 14 },
};

/** Empties the tables, and inserts random rows by SQL. */
export async function refill(db: Database, dice: Dice): Promise<State> {
  const empty = Object.fromEntries(tableNames.map((name) => [name, []]));
  // It has every table.
  let state = empty as unknown as State;
  for (const name of tableNames) {
    const rows = Array.from(
      { length: counts[name] },
      (_none, index) => newRow(name, index + 1, state, dice),
    );
    const keys = new Map(rows.map((row) => [
      name === "taggings" ? `${row["taskId"]},${row["labelId"]}` : row["id"],
      row,
    ]));
    state = { ...state, [name]: [...keys.values()] };
  }
  for (const name of tableNames) {
    await db.driver.query({ text: `DELETE FROM "${name}"`, values: [] });
    await insertRows(db, tables[name], state[name]);
  }
  return state;
}
