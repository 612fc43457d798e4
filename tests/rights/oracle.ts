import { cleared } from "./world.ts";
import type { Caller, Row, State } from "./state.ts";
import type { TableName } from "./tables.ts";

/** The kinds of access to a row. */
export type Right = "read" | "create" | "update" | "delete";

/**
 * Returns true if a caller has a right to a row. This oracle uses neither filters nor policies: it
 * contains each rule a second time, as plain code over all rows of all tables.
 */
export function may(right: Right, state: State, caller: Caller, table: TableName, row: Row) {
  if (right === "read" && isPublic(state, table, row)) return true;
  if (caller === null) return false;
  if (caller === "root") return hasRight(right, table);
  return new Rules(state, caller).may(right, table, row);
}

const noUpdates: readonly TableName[] = ["blocks", "shares", "labels", "taggings"];

/** Returns true if the resource has a scope for the right. */
export function hasRight(right: Right, table: TableName): boolean {
  if (right === "read") return true;
  return table !== "labels" && (right !== "update" || !noUpdates.includes(table));
}

/** Returns true if the resource has a read scope for the caller. */
export const mayList = (caller: Caller, table: TableName): boolean =>
  caller !== null || ["projects", "tasks", "labels"].includes(table);

export const readable = (state: State, caller: Caller, table: TableName): readonly Row[] =>
  state[table].filter((row) => may("read", state, caller, table, row));

/** The column of each table that only cleared callers may read and write. */
export const withheld: Partial<Record<TableName, string>> = { projects: "budget", tasks: "secret" };
export const isCleared = (caller: Caller) => caller !== null && cleared.includes(caller);

/** Returns a row without the columns that the caller may not read. */
export function shown(caller: Caller, table: TableName, row: Row): Row {
  const hidden = isCleared(caller) ? undefined : withheld[table];
  return Object.fromEntries(Object.entries(row).filter(([name]) => name !== hidden));
}

function isPublic(state: State, table: TableName, row: Row): boolean {
  if (table === "labels") return true;
  if (table === "projects") return row["isPublic"] === true;
  if (table !== "tasks") return false;
  return state.projects.some(({ id, isPublic }) => id === row["projectId"] && isPublic === true);
}

/** A row that a request writes. */
export interface Written {
  readonly right: "create" | "update";
  readonly table: TableName;
  readonly row: Row;
}

/**
 * Returns true if all written rows are permitted, false if one is not, and null if the documents do
 * not decide. New members, and members that change, grant no right to themselves. Other written rows
 * may grant the right to them.
 */
export function mayWrite(before: State, after: State, caller: Caller, rows: readonly Written[]) {
  const permits = (state: State, { right, table, row }: Written) =>
    may(right, state, caller, table, row);
  const changed = rows.filter(({ table, row }) => table === "members" && !isIn(before, row));
  const others = rows.filter((one) => !changed.includes(one));
  const keys = new Set(changed.map(({ row }) => row["id"]));
  let known: State = {
    ...after,
    members: after.members.filter(({ id }) => !keys.has(id)),
  };
  if (!others.every((one) => permits(after, one))) return false;
  if (changed.every((one) => permits(known, one))) return true;
  for (let left = changed, size = -1; left.length !== size;) {
    size = left.length;
    const good = left.filter((one) => permits(known, one));
    known = { ...known, members: [...known.members, ...good.map(({ row }) => row)] };
    left = left.filter((one) => !good.includes(one));
    if (left.length === 0) return null;
  }
  return false;
}

/** Returns true if a member was the same before. */
const isIn = (before: State, row: Row): boolean =>
  before.members.some((one) =>
    ["id", "teamId", "userId", "role"].every((name) => one[name] === row[name])
  );

class Rules {
  readonly #state: State;
  readonly #user: string;

  constructor(state: State, user: string) {
    this.#state = state;
    this.#user = user;
  }

  may(right: Right, table: TableName, row: Row): boolean {
    switch (table) {
      case "orgs":
        return this.#org(right, row);
      case "teams":
        return this.#team(right, row);
      case "members":
        return this.#member(right, row);
      case "projects":
        return this.#project(right, row);
      case "blocks":
        return right !== "update" && this.#isProjectAdmin(this.#one("projects", row["projectId"]));
      case "tasks":
        return this.#task(right, row);
      case "comments":
        return this.#comment(right, row);
      case "shares":
        if (right === "update") return false;
        return (right === "read" && row["userId"] === this.#user) || this.#isAuthorOf(row);
      case "taggings":
        if (right === "update") return false;
        return (right === "read" && row["byId"] === this.#user) || this.#isAuthorOf(row);
      case "labels":
        return right === "read";
    }
  }

  #one(table: TableName, id: unknown): Row | undefined {
    return id === null ? undefined : this.#state[table].find((row) => row["id"] === id);
  }

  #isOn(teamId: unknown, roles?: readonly string[]): boolean {
    return this.#state.members.some((one) =>
      one["teamId"] === teamId && one["userId"] === this.#user &&
      (roles === undefined || roles.includes(String(one["role"])))
    );
  }

  #owns(orgId: unknown): boolean {
    return this.#one("orgs", orgId)?.["ownerId"] === this.#user;
  }

  #seesTeam(team: Row | undefined): boolean {
    return team !== undefined && (this.#isOn(team["id"]) || this.#owns(team["orgId"]));
  }

  /** Returns true if the user is an admin of an existing team. */
  #isAdmin(teamId: unknown): boolean {
    const team = this.#one("teams", teamId);
    return team !== undefined && this.#isOn(team["id"], ["admin"]);
  }

  #isBlocked(project: Row): boolean {
    return this.#state.blocks.some(({ projectId, userId }) =>
      projectId === project["id"] && userId === this.#user
    );
  }

  #isProjectAdmin(project: Row | undefined): boolean {
    return project !== undefined && this.#isAdmin(project["teamId"]);
  }

  #seesProject(project: Row | undefined): boolean {
    return project !== undefined && this.#seesTeam(this.#one("teams", project["teamId"])) &&
      !this.#isBlocked(project);
  }

  #seesTask(task: Row): boolean {
    return this.#seesProject(this.#one("projects", task["projectId"])) ||
      this.#state.shares.some(({ taskId, userId }) =>
        taskId === task["id"] && userId === this.#user
      );
  }

  #isAuthorOf(row: Row): boolean {
    return this.#one("tasks", row["taskId"])?.["authorId"] === this.#user;
  }

  #org(right: Right, org: Row): boolean {
    const teams = this.#state.teams.filter(({ orgId }) => orgId === org["id"]);
    const isOwner = org["ownerId"] === this.#user;
    if (right === "read") return isOwner || teams.some(({ id }) => this.#isOn(id));
    return isOwner && (right !== "delete" || teams.length === 0);
  }

  #team(right: Right, team: Row): boolean {
    if (right === "read") return this.#seesTeam(team);
    if (right === "create") return this.#owns(team["orgId"]);
    const org = this.#one("orgs", team["orgId"]);
    if (right === "update") {
      return this.#isOn(team["id"], ["admin"]) && (org === undefined || org["frozen"] === false);
    }
    const isLed = this.#state.members.some(({ teamId, role, userId }) =>
      teamId === team["id"] && role === "admin" && userId !== this.#user
    );
    return this.#owns(team["orgId"]) && !isLed;
  }

  #member(right: Right, member: Row): boolean {
    const isSelf = member["userId"] === this.#user;
    if (right === "read") {
      const team = this.#one("teams", member["teamId"]);
      return team !== undefined && this.#isOn(team["id"]);
    }
    const isAdmin = this.#isAdmin(member["teamId"]);
    return isAdmin || (right === "delete" && isSelf);
  }

  #project(right: Right, project: Row): boolean {
    if (right === "read") return this.#seesProject(project);
    if (!this.#isProjectAdmin(project)) return false;
    if (right === "create") return true;
    if (right === "update") return !this.#isBlocked(project);
    return this.#state.tasks.every(({ projectId, status }) =>
      projectId !== project["id"] || status === "done"
    );
  }

  #task(right: Right, task: Row): boolean {
    if (right === "read") return this.#seesTask(task);
    const isAuthor = task["authorId"] === this.#user;
    const project = this.#one("projects", task["projectId"]);
    if (right === "create") {
      const team = this.#one("teams", project?.["teamId"] ?? null);
      return isAuthor && team !== undefined && this.#isOn(team["id"], ["admin", "member"]);
    }
    const isLocked = task["status"] === "locked";
    const isAdmin = this.#isProjectAdmin(project);
    if (right === "update") return isAdmin || (isAuthor && !isLocked);
    return !isLocked && (isAdmin || isAuthor);
  }

  #comment(right: Right, comment: Row): boolean {
    const isAuthor = comment["authorId"] === this.#user;
    const task = this.#one("tasks", comment["taskId"]);
    if (right === "read") return isAuthor || (task !== undefined && this.#seesTask(task));
    if (right === "update") return isAuthor;
    if (right === "create") {
      const isOpen = task !== undefined &&
        (task["status"] !== "locked" || task["authorId"] === this.#user);
      return isAuthor && isOpen;
    }
    return isAuthor || this.#isProjectAdmin(this.#one("projects", task?.["projectId"] ?? null));
  }
}
