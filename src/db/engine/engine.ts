import type { EngineParts } from "../../sql/dialect.ts";
import type { CatalogEngine } from "./catalog_engine.ts";
import type { ChangesEngine } from "./changes_engine.ts";
import type { ConstraintsEngine } from "./constraints_engine.ts";
import type { InstalledEngine } from "./installed_engine.ts";
import type { MigrationsEngine } from "./migrations_engine.ts";
import type { RolesEngine } from "./roles_engine.ts";

/**
 * A database engine: everything that differs between engines outside of SQL text. Code outside of
 * `src/engines/` calls its members and never compares its name.
 */
export interface DatabaseEngine extends EngineParts {
  readonly catalog: CatalogEngine;
  readonly changes: ChangesEngine;
  readonly constraints: ConstraintsEngine;
  readonly installed: InstalledEngine;
  /** The roles of the engine, or null if databases of the engine have no roles. */
  readonly roles: RolesEngine | null;
  /** Loads the migrations, which most processes do not need. */
  migrations(): Promise<MigrationsEngine>;
}
