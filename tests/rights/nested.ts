import type { Ask } from "./doors.ts";
import type { Dice } from "./dice.ts";
import { hasRight, may, mayWrite, type Written } from "./oracle.ts";
import { type Relation, relationsOf } from "./related.ts";
import { drop, find, keyOf, put, type Row, type State } from "./state.ts";
import type { TableName } from "./tables.ts";
import {
  created,
  declared,
  newBody,
  permit,
  refuse,
  type Scene,
  someRow,
  type WriteCase,
} from "./writes.ts";

/** A relation whose rows a body writes. */
interface Place {
  readonly table: TableName;
  readonly name: string;
}

const lists: readonly Place[] = [
  { table: "projects", name: "tasks" },
  { table: "tasks", name: "comments" },
  { table: "tasks", name: "labels" },
  { table: "tasks", name: "shares" },
  { table: "teams", name: "members" },
  { table: "teams", name: "projects" },
  { table: "orgs", name: "teams" },
];
const singles: readonly Place[] = [
  { table: "comments", name: "task" },
  { table: "tasks", name: "project" },
  { table: "projects", name: "team" },
  { table: "teams", name: "org" },
];
const required: readonly string[] = ["members", "shares", "blocks"];

function relationAt({ table, name }: Place): Relation {
  const relation = relationsOf[table][name];
  if (relation === undefined) throw new Error(`no relation ${table}.${name}`);
  return relation;
}

/** The rows after the parts of a nested write, and the reasons to refuse it. */
class Draft {
  state: State;
  readonly scene: Scene;
  readonly refusals = new Set<number>();
  /** The scopes that are evaluated when all rows are written. */
  readonly #written: Written[] = [];

  constructor(scene: Scene) {
    this.scene = scene;
    this.state = scene.state;
  }

  /** Creates a row like a `POST`. */
  create(table: TableName, row: Row): void {
    this.state = put(this.state, table, row);
    this.#check("create", table, row);
  }

  /** Changes a row like a `PATCH`. */
  update(table: TableName, row: Row, values: Row): void {
    const { caller, state } = this.scene;
    if (!may("update", state, caller, table, row)) this.refusals.add(403);
    const version = table === "tasks" ? { version: Number(row["version"]) + 1 } : {};
    const next = { ...row, ...values, ...version };
    this.state = put(this.state, table, next);
    this.#check("update", table, next);
  }

  delete(table: TableName, row: Row): void {
    const { caller, state } = this.scene;
    if (!may("delete", state, caller, table, row)) this.refusals.add(403);
    this.state = drop(this.state, table, [row]);
  }

  end(ask: Ask, status: number): WriteCase {
    const isRight = mayWrite(this.scene.state, this.state, this.scene.caller, this.#written);
    if (isRight === false) this.refusals.add(403);
    // The documents do not say which of several reasons an answer contains.
    if (this.refusals.size > 0) return refuse(ask, [...this.refusals]);
    return permit(ask, status, this.state, undefined, isRight);
  }

  #check(right: "create" | "update", table: TableName, row: Row): void {
    this.#written.push({ right, table, row });
  }
}

/** Returns the body of a child without its foreign key. */
function childBody(relation: Relation, scene: Scene): Row {
  const { [relation.at]: _place, ...body } = newBody(relation.to, scene);
  return body;
}

/** Creates a row with its children, or with links to labels. */
function createBelow(scene: Scene): WriteCase {
  const { caller, dice } = scene;
  const place = dice.of(lists.filter(({ name }) => name !== "members"));
  const relation = relationAt(place);
  const body = newBody(place.table, scene);
  const draft = new Draft(scene);
  const row = created(caller, place.table, body);
  draft.create(place.table, row);
  let children: readonly Row[];
  if (relation.links === undefined) {
    children = Array.from({ length: 1 + dice.below(2) }, () => childBody(relation, scene));
    for (const child of children) {
      const made = { ...created(caller, relation.to, child), [relation.at]: row["id"] };
      draft.create(relation.to, made);
    }
  } else {
    children = dice.some(scene.state.labels, 2).map(({ id }) => ({ id }));
    for (const { id } of children) {
      draft.create("taggings", { taskId: row["id"], labelId: id, byId: null });
    }
  }
  const ask: Ask = {
    ...{ operation: "create", table: place.table, caller },
    body: { ...body, [place.name]: children },
  };
  const refusal = declared(place.table, caller, "create");
  return refusal === null ? draft.end(ask, 201) : refuse(ask, refusal);
}

/** Creates a row together with its parent, or connects it to an existing one. */
function createAbove(scene: Scene): WriteCase {
  const { caller, dice, view } = scene;
  const place = dice.of(singles);
  const relation = relationAt(place);
  const { [relation.from]: _place, ...body } = newBody(place.table, scene);
  const draft = new Draft(scene);
  const parent = dice.once(2) ? newBody(relation.to, scene) : null;
  const known = parent === null ? someRow(relation.to, scene) : null;
  if (parent !== null) draft.create(relation.to, created(caller, relation.to, parent));
  else if (known !== null && !view.rows(relation.to).includes(known)) draft.refusals.add(422);
  const id = parent === null ? known?.["id"] ?? 998 : parent["id"];
  if (parent === null && known === null) draft.refusals.add(422);
  draft.create(place.table, {
    ...created(caller, place.table, body),
    [relation.from]: id,
  });
  const ask: Ask = {
    ...{ operation: "create", table: place.table, caller },
    body: { ...body, [place.name]: parent ?? { connect: id } },
  };
  const refusal = declared(place.table, caller, "create");
  return refusal === null ? draft.end(ask, 201) : refuse(ask, refusal);
}

/** Draws the row in the path, and notes why it may not be changed. */
function rowInPath(place: Place, draft: Draft): Row | null {
  const { view } = draft.scene;
  const row = someRow(place.table, draft.scene);
  if (row === null) return null;
  if (!view.rows(place.table).includes(row)) draft.refusals.add(404);
  else draft.update(place.table, row, {});
  return row;
}

/** Draws ids of related rows and of others, hidden and missing ones included. */
function someIds(table: TableName, related: readonly Row[], dice: Dice, all: readonly Row[]) {
  const drawn = [...dice.some(related, 1), ...dice.some(all, 1)].map((row) => keyOf(table, row));
  const ids = new Set(dice.once(12) ? [...drawn, "998"] : drawn);
  return [...ids].map(Number);
}

/** Changes the children or the links of an existing row. */
function changeBelow(scene: Scene): WriteCase {
  const { caller, dice, state, view } = scene;
  const place = dice.of(lists);
  const relation = relationAt(place);
  const draft = new Draft(scene);
  const row = rowInPath(place, draft);
  const { to } = relation;
  const related = row === null ? [] : relatedNow(state, row, relation);
  const connect = someIds(to, related, dice, state[to]);
  const rest = someIds(to, related, dice, state[to]).filter((id) => !connect.includes(id));
  const isSet = dice.once(3);
  const disconnect = isSet ? [] : rest;
  const create = dice.once(4) && relation.links === undefined ? [childBody(relation, scene)] : [];
  const ask: Ask = {
    ...{ operation: "update", table: place.table, caller, key: String(row?.["id"] ?? 998) },
    body: {
      [place.name]: {
        ...(isSet ? { set: connect } : { connect, disconnect }),
        ...(create.length === 0 ? {} : { create }),
      },
    },
  };
  if (caller === null) return refuse(ask, [401]);
  const isWritten = connect.length + disconnect.length > 0 || isSet;
  if (relation.links === undefined && isWritten && !hasRight("update", to)) {
    draft.refusals.add(403);
  }
  if (required.includes(to) && disconnect.length > 0) draft.refusals.add(422);
  if (row === null) return refuse(ask, [404, ...draft.refusals]);
  const seen = (id: number) => view.rows(to).find((one) => one["id"] === id);
  const gone = isSet
    ? related.filter((one) => view.rows(to).includes(one) && !connect.includes(Number(one["id"])))
      .map((one) => Number(one["id"]))
    : disconnect;
  const own = { draft, relation, row };
  for (const id of connect) connectOne(own, seen(id));
  for (const id of gone) disconnectOne(own, seen(id));
  for (const child of create) {
    draft.create(to, { ...created(caller, to, child), [relation.at]: row["id"] });
  }
  return draft.end(ask, 200);
}

interface Own {
  readonly draft: Draft;
  readonly relation: Relation;
  readonly row: Row;
}

/** Returns all related rows, hidden ones included. */
function relatedNow(state: State, row: Row, { to, at, links }: Relation): readonly Row[] {
  if (links === undefined) return state[to].filter((one) => one[at] === row["id"]);
  const ids = state.taggings.filter((link) => link[links[0]] === row["id"])
    .map((link) => link[links[1]]);
  return state[to].filter((one) => ids.includes(one["id"]));
}

function linkOf({ draft, row }: Own, label: Row): Row | undefined {
  const { view } = draft.scene;
  const link = find(draft.scene.state, "taggings", `${row["id"]},${label["id"]}`);
  return link !== undefined && view.rows("taggings").includes(link) ? link : undefined;
}

function connectOne(own: Own, found: Row | undefined): void {
  const { draft, relation: { to, at, links }, row } = own;
  if (found === undefined) {
    draft.refusals.add(422);
    return;
  }
  if (links === undefined) {
    if (found[at] !== row["id"]) draft.update(to, found, { [at]: row["id"] });
    return;
  }
  if (linkOf(own, found) !== undefined) return;
  // The database refuses the key of a hidden link before the service evaluates the scope.
  const key = `${row["id"]},${found["id"]}`;
  if (find(draft.scene.state, "taggings", key) !== undefined) draft.refusals.add(409);
  draft.create("taggings", { taskId: row["id"], labelId: found["id"], byId: null });
}

function disconnectOne(own: Own, found: Row | undefined): void {
  const { draft, relation: { to, at, links }, row } = own;
  if (found === undefined) return;
  if (links === undefined) {
    if (found[at] !== row["id"]) return;
    if (required.includes(to)) draft.refusals.add(422);
    draft.update(to, found, { [at]: null });
    return;
  }
  const link = linkOf(own, found);
  if (link !== undefined) draft.delete("taggings", link);
}

/** Changes the parent of a row. */
function changeAbove(scene: Scene): WriteCase {
  const { caller, dice, view } = scene;
  const place = dice.of(singles);
  const relation = relationAt(place);
  const draft = new Draft(scene);
  const row = someRow(place.table, scene);
  const parent = dice.once(3) ? null : someRow(relation.to, scene);
  const ask: Ask = {
    ...{ operation: "update", table: place.table, caller, key: String(row?.["id"] ?? 998) },
    body: {
      [place.name]: parent === null ? { disconnect: true } : { connect: parent["id"] },
    },
  };
  if (caller === null) return refuse(ask, [401]);
  if (row === null || !view.rows(place.table).includes(row)) return refuse(ask, [404]);
  if (parent !== null && !view.rows(relation.to).includes(parent)) {
    draft.refusals.add(422);
  }
  draft.update(place.table, row, { [relation.from]: parent?.["id"] ?? null });
  return draft.end(ask, 200);
}

/** Draws a write of related rows, with the required result. */
export function nestedWrite(scene: Scene): WriteCase {
  const draw = scene.dice.of([createBelow, createAbove, changeBelow, changeBelow, changeAbove]);
  return draw(scene);
}
