import type { Connection } from "../../../exports/driver.ts";
import { type Case, engineOf, failure, type Form, type Outcome, type Stand } from "./cases.ts";
import { diceOf } from "./dice.ts";
import { literal } from "./filter_sql.ts";
import { passing } from "./found.ts";
import { model, type Value } from "./model.ts";
import { randomPerson, type Row } from "./rows.ts";

/** The person that a case creates or changes; an update leaves some columns as they are. */
function writtenPerson({ form, seed }: Case): { readonly id: number; readonly row: Row } {
  const dice = diceOf(seed + 1);
  const columns = Object.entries(randomPerson(dice));
  if (form === "create") return { id: 50, row: Object.fromEntries(columns) };
  const changed = columns.filter(([name]) => name === "age" || dice.chance(0.5));
  return { id: 1 + dice(3), row: Object.fromEntries(changed) };
}

/**
 * Whether plain SQL lets the row through, before and after the write, which is undone. The row is
 * never the reason for its own right: relations do not lead to a new row. Null where the rule
 * depends on this in another way, which the contract leaves to the columns that the rule uses.
 */
export async function mayWrite({ db }: Stand, case_: Case): Promise<boolean | null> {
  const { id, row } = writtenPerson(case_);
  const { driver } = db;
  const engine = engineOf(db);
  const passes = async (connection: Connection, unreached: number | null = null) =>
    (await passing(connection, engine, case_, unreached)).keys.some(([key]) => key === id);
  if (case_.form === "update" && !await passes(driver)) return false;
  let isAllowed: boolean | null = false;
  await driver.transaction(async (connection) => {
    await connection.query({ text: writeOf(case_.form, id, row), values: [] });
    const byItself = await passes(connection);
    const byOthers = await passes(connection, id);
    isAllowed = byItself === byOthers
      ? byOthers
      : case_.form === "create" && byItself
      ? false
      : null;
    throw undone;
  }).catch((error) => {
    if (error !== undone) throw error;
  });
  return isAllowed;
}

const undone = new Error("undone");

function writeOf(form: Form, id: number, row: Row): string {
  const entries = Object.entries(row).map(([name, value]) => {
    const text = value === null ? "NULL" : literal(value as Value);
    return [`"${model.people.columns[name]!.db}"`, text] as const;
  });
  if (form !== "create") {
    const changes = entries.map(([name, value]) => `${name} = ${value}`);
    return `UPDATE people SET ${changes} WHERE id = ${id}`;
  }
  const names = entries.map(([name]) => name);
  return `INSERT INTO people (id, ${names}) VALUES (${id}, ${entries.map(([, value]) => value)})`;
}

/** Writes as the user, and puts the row back. */
export async function written(stand: Stand, case_: Case, user: string): Promise<Outcome> {
  const { id, row } = writtenPerson(case_);
  const isNew = case_.form === "create";
  const answer = await stand.send(
    isNew ? "POST" : "PATCH",
    isNew ? "/api/people" : `/api/people/${id}`,
    isNew ? { id, ...row } : row,
    { "x-user": user },
  );
  if (answer.status === 403) return "forbidden";
  if (answer.status !== (isNew ? 201 : 200)) return failure(stand, answer, JSON.stringify(row));
  const { id: _id, ...before } = stand.rows.people.find((person) => person["id"] === id) ?? {};
  const text = isNew ? `DELETE FROM people WHERE id = ${id}` : writeOf("update", id, before);
  await stand.db.query({ text, values: [] });
  return "written";
}
