import type { Random } from "../../runtime/runtime.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { ResolvedChangesOptions } from "../changes/changes_options.ts";
import type { Connection, Driver } from "../driver.ts";
import type { DeclaredTable } from "../migrations/compare/compare_tables.ts";
import type { ExistingShapes, TableName, TableShape } from "../migrations/compare/table_shape.ts";
import type { MigrationStep } from "../migrations/migration_plan.ts";
import type { TableMigration } from "../migrations/plan/table_migration.ts";
import type { ComparisonFacts, PlanningFacts } from "./migration_facts.ts";

export interface MigrationsEngine {
  readonly comparison: ComparisonEngine;
  readonly planning: PlanningEngine;
  readonly running: MigrationRunEngine;
  readonly recording: RecordingEngine;
}

export interface ComparisonEngine extends ComparisonFacts {
  shapes(connection: Connection, names: readonly TableName[]): Promise<ExistingShapes>;
  declaredShape(parsed: TableShape): TableShape;
  /** Rewrites expressions to the form that the engine stores; null if it stores them unchanged. */
  readonly written:
    | ((
      connection: Connection,
      declared: readonly DeclaredTable[],
    ) => Promise<readonly DeclaredTable[]>)
    | null;
}

export interface PlanningEngine extends PlanningFacts {
  steps(
    connection: Connection,
    changed: readonly TableMigration[],
    missing: readonly TableShape[],
  ): Promise<readonly MigrationStep[]>;
  /** Returns the strongest lock that a statement takes on an existing table; null for no lock. */
  lockOf(sql: string): string | null;
  /** Divides the steps into parts, one for each migration file. The files run in this order. */
  writtenParts(steps: readonly MigrationStep[]): readonly WrittenPart[];
  /** SQL that lists foreign keys: referring table (`from`), referenced table (`to`), and FROM. */
  readonly references: { readonly from: string; readonly to: string; readonly rows: string };
}

export interface WrittenPart {
  readonly isApart: boolean;
  readonly steps: readonly MigrationStep[];
}

/** Throws an Error (which names `file`) if a migration broke foreign keys, views or triggers. */
export type IntegrityCheck = (tables: readonly TableInfo[], file?: string) => Promise<void>;

export interface MigrationRunEngine {
  compare<T>(driver: Driver, work: (connection: Connection) => Promise<T>): Promise<T>;
  /** Runs `work`, which alters tables, in a transaction, while no other process migrates. */
  restructure<T>(driver: Driver, work: (connection: Connection) => Promise<T>): Promise<T>;
  /**
   * Runs `work` on one connection without a transaction, so that each statement commits alone. On a
   * database server, other processes that call this function wait until `work` has ended.
   */
  apart<T>(driver: Driver, work: (connection: Connection) => Promise<T>): Promise<T>;
  /** Inside `apart`, runs `work` with the role and settings from before the migration file. */
  asItself<T>(connection: Connection, work: () => Promise<T>): Promise<T>;
  undoSettings(statements: readonly string[]): readonly string[];
  unusableIndexes(connection: Connection): Promise<readonly string[]>;
  readonly hasOneWriter: boolean;
  integrity(connection: Connection): Promise<IntegrityCheck>;
  /** Returns why a file must not run the statement (part of a sentence), or null if it may. */
  whyNot(statement: string): string | null;
  /** Returns true if a statement of a migration file turns foreign keys off, to rebuild a table. */
  turnsKeysOff(statement: string): boolean;
}

export interface PausedTable extends TableName {
  readonly hidden: readonly string[];
}

export interface ExistingRecording {
  readonly hidden: readonly string[];
  readonly mode: "triggers" | "service";
}

export interface RecordingEngine {
  /** Drops triggers that would prevent a migration. Returns the tables with recorded changes. */
  pause(connection: Connection): Promise<readonly PausedTable[]>;
  /** Returns the tables to record again after the migration, under their new names. */
  resumed(connection: Connection, paused: readonly PausedTable[]): Promise<readonly PausedTable[]>;
  of(connection: Connection, table: TableShape): Promise<ExistingRecording | null>;
  record(connection: Connection, table: TableInfo, setup: {
    readonly changes: Pick<ResolvedChangesOptions, "mode" | "schema" | "exclude">;
    readonly random: Random;
    /** True if recorded columns have changed, so that streams of the table must start over. */
    readonly startsAgain: boolean;
  }): Promise<void>;
}
