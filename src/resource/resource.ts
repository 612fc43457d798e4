import type { AccessPolicy } from "../auth/scope.ts";
import type { Driver } from "../db/driver.ts";
import type { RowReader } from "../db/rows.ts";
import type { Filter } from "../filter/filter.ts";
import type { Operators } from "../filter/operators.ts";
import type { FilterParser } from "../filter/parse_filter.ts";
import type { Hub } from "../live/hub.ts";
import type { PageLimits } from "../plan/page.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Sealer } from "../runtime/sealer.ts";
import type { Relation } from "../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import type { EtagPolicy } from "./etag.ts";
import type { AnyHooks } from "./hooks.ts";
import type { Computed } from "./output.ts";
import type { SoftDelete } from "./soft_delete.ts";

/** Which columns may be used for what. */
export interface FieldPolicy {
  /** In the table's order. */
  readonly readable: readonly ColumnInfo[];
  readonly writable: ReadonlySet<ColumnInfo>;
  readonly filterable: ReadonlySet<ColumnInfo>;
  readonly sortable: ReadonlySet<ColumnInfo>;
}

/** What may be done at all, whoever asks. */
export interface SettledCapabilities {
  readonly enableCreate: boolean;
  readonly enableUpdate: boolean;
  readonly enableDelete: boolean;
  readonly enableBatch: boolean;
  readonly enableRestore: boolean;
  readonly enableSubscribe: boolean;
}

/** The most items of one batch, and whether batches count versions up. */
export interface BatchPolicy {
  readonly create: number;
  readonly update: number;
  readonly replace: number;
  readonly delete: number;
  readonly incrementVersion: boolean;
}

/** One served table, every option settled. */
export interface Resource {
  /** The table's name, for messages. */
  readonly name: string;
  /** Where it is mounted, with the base path, percent-encoded: `/api/notes`. */
  readonly url: string;
  readonly table: TableInfo;
  readonly driver: Driver;
  readonly reader: RowReader;
  readonly policy: AccessPolicy;
  readonly fields: FieldPolicy;
  readonly strictInput: boolean;
  /** The columns that the server fills in. */
  readonly generated: ReadonlySet<ColumnInfo>;
  readonly computed: Computed;
  readonly capabilities: SettledCapabilities;
  readonly page: PageLimits;
  readonly batch: BatchPolicy;
  readonly etag: EtagPolicy | null;
  readonly softDelete: SoftDelete | null;
  /** The rows that are not marked deleted. */
  readonly live: Filter;
  readonly hooks: AnyHooks;
  readonly hookTimeoutMs: number;
  /** The named ways to rows of other tables. */
  readonly relations: ReadonlyMap<string, Relation>;
  /** How the app serves another table: its policy, its mask. Undefined where it does not. */
  resourceOf(table: TableInfo): Resource | undefined;
  /** The live streams over its database; null where no changes are recorded. */
  hub(): Hub | null;
  readonly operators: Operators;
  readonly filters: FilterParser;
  readonly sealer: Sealer;
  readonly runtime: Runtime;
}
