import type { Runtime } from "../../runtime/runtime.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { ComputedFields } from "../model/resource.ts";
import type { ResourceDefinition } from "./resource_definition.ts";

export function resolveComputed(
  { computed = {} }: ResourceDefinition["options"],
  table: TableInfo,
  { clock, observe }: Pick<Runtime, "clock" | "observe">,
): ComputedFields {
  for (const name of Object.keys(computed)) {
    if (!table.byName.has(name)) continue;
    throw new Error(`Cannot serve "${table.label}": computed "${name}" is a column as well`);
  }
  const failures = new Map<string, { readonly observedAt: number; suppressed: number }>();
  return {
    fields: Object.entries(computed),
    failed(field, error) {
      const now = clock.elapsedMs();
      const known = failures.get(field);
      // If one bug breaks a field in many rows, a stack trace for each row would fill the disk.
      if (known !== undefined && now < known.observedAt + intervalMs) {
        known.suppressed++;
        return;
      }
      const suppressed = known?.suppressed ?? 0;
      failures.set(field, { observedAt: now, suppressed: 0 });
      observe({ kind: "computed_failed", resource: table.label, field, suppressed, error });
    },
  };
}

const intervalMs = 60_000;
