import {
  all,
  type Database,
  integer,
  resource,
  type ResourceOptions,
  table,
  text,
  timestamp,
} from "../../mod.ts";
import type { Connection, Driver } from "../../exports/driver.ts";
import type { Engine } from "../support/engines.ts";
import { type Service, withService } from "../support/http.ts";

export const notes = table("notes", {
  id: integer().primaryKey(),
  ownerId: text().notNull().default("ada").as("owner_id"),
  title: text().notNull(),
  slug: text().unique(),
  rank: integer().default(7),
  version: integer().default(1),
  updatedAt: timestamp().as("updated_at"),
  deletedAt: timestamp().as("deleted_at"),
});
export type Note = typeof notes.$inferSelect;

export const open = {
  public: true,
  create: () => all(),
  update: () => all(),
  delete: () => all(),
} as const;
export const ada = { "x-user": "ada" };

/** Runs `work` against a service of notes; `statements` holds what it sent to the database. */
export function withNotes(
  engine: Engine,
  options: Partial<ResourceOptions<Note>>,
  work: (service: Service, statements: string[]) => Promise<void>,
): Promise<void> {
  const statements: string[] = [];
  return withService(engine, [notes], (db) => ({
    resources: [
      resource(notes, { id: notes.id, auth: open, db: recorded(db, statements), ...options }),
    ],
  }), (service) => work(service, statements));
}

/** The statements of a database, transactions included, and one by one. */
export function recorded(db: Database, statements: string[]): Database {
  return watched(db, ({ text }) => statements.push(text));
}

/** What a driver is given to run. */
export type Statement = Parameters<Connection["query"]>[0];

/** A database that shows each statement before it is sent. */
export function watched(db: Database, see: (statement: Statement) => void): Database {
  const { driver } = db;
  const recording = (connection: Connection): Connection => ({
    query(statement) {
      see(statement);
      return connection.query(statement);
    },
  });
  const driverOfTest: Driver = {
    ...recording(driver),
    dialect: driver.dialect,
    label: driver.label,
    isShared: driver.isShared,
    signals: driver.signals,
    onCommit: (listener) => driver.onCommit(listener),
    reads: (limits) => recording(driver.reads(limits)),
    transaction: (work) => driver.transaction((connection) => work(recording(connection))),
    close: () => driver.close(),
  };
  return { ...db, driver: driverOfTest };
}

/** `count` items from 1 on. */
export function some<T>(count: number, make: (id: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index + 1));
}
