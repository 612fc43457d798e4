import { readable } from "./oracle.ts";
import type { Caller, Row, State } from "./state.ts";
import type { TableName } from "./tables.ts";

/** A relation of the oracle. */
export interface Relation {
  readonly to: TableName;
  readonly isMany: boolean;
  /** The equal columns of this row and the related row. `links` are columns of the link table. */
  readonly from: string;
  readonly at: string;
  readonly links?: readonly [here: string, there: string];
}

const one = (to: TableName, from: string): Relation => ({ to, isMany: false, from, at: "id" });
const many = (to: TableName, at: string): Relation => ({ to, isMany: true, from: "id", at });
const linked = (to: TableName, here: string, there: string): Relation => ({
  ...{ to, isMany: true, from: "id", at: "id", links: [here, there] },
});

export const relationsOf: Readonly<Record<TableName, Readonly<Record<string, Relation>>>> = {
  orgs: { teams: many("teams", "orgId") },
  teams: {
    org: one("orgs", "orgId"),
    members: many("members", "teamId"),
    projects: many("projects", "teamId"),
  },
  members: { team: one("teams", "teamId") },
  projects: {
    team: one("teams", "teamId"),
    tasks: many("tasks", "projectId"),
    blocks: many("blocks", "projectId"),
  },
  blocks: { project: one("projects", "projectId") },
  tasks: {
    project: one("projects", "projectId"),
    comments: many("comments", "taskId"),
    shares: many("shares", "taskId"),
    labels: linked("labels", "taskId", "labelId"),
  },
  comments: { task: one("tasks", "taskId") },
  shares: { task: one("tasks", "taskId") },
  labels: { tasks: linked("tasks", "labelId", "taskId") },
  taggings: { task: one("tasks", "taskId") },
};

/** The rows of a state that a caller may read. */
export class View {
  readonly state: State;
  readonly caller: Caller;
  readonly #rows = new Map<TableName, readonly Row[]>();

  constructor(state: State, caller: Caller) {
    this.state = state;
    this.caller = caller;
  }

  rows(table: TableName): readonly Row[] {
    let rows = this.#rows.get(table);
    if (rows === undefined) {
      rows = readable(this.state, this.caller, table);
      this.#rows.set(table, rows);
    }
    return rows;
  }

  /** The rows that a relation leads to, of those that the caller may read. */
  related(row: Row, relation: Relation): readonly Row[] {
    const { to, from, at, links } = relation;
    const value = row[from];
    if (value === null) return [];
    if (links === undefined) return this.rows(to).filter((other) => other[at] === value);
    const ends = this.rows("taggings").filter((link) => link[links[0]] === value)
      .map((link) => link[links[1]]);
    return this.rows(to).filter((other) => ends.includes(other[at]));
  }

  /** The rows at the end of a path. */
  reached(row: Row, path: readonly Relation[]): readonly Row[] {
    let rows: readonly Row[] = [row];
    for (const step of path) rows = [...new Set(rows.flatMap((one) => this.related(one, step)))];
    return rows;
  }
}
