import { describePartCounts, type RemovablePart } from "../../db/installed/removable_parts.ts";
import { uninstallFromUrl } from "../../engines/uninstall_from.ts";
import { withoutSecrets } from "../../engines/server_url.ts";
import { databaseUrl } from "../database/resolve_database_url.ts";
import { printable } from "../printable.ts";
import type { UninstallCommand } from "../command_arguments.ts";

export async function runUninstallCommand({ database }: UninstallCommand): Promise<number> {
  await uninstall(database, (line) => console.log(line));
  return 0;
}

export async function uninstall(place: string, print: (line: string) => void): Promise<void> {
  const url = await databaseUrl(place);
  const shown = withoutSecrets(place);
  let removed: readonly RemovablePart[] = [];
  const announce = (parts: readonly RemovablePart[]) => {
    removed = parts;
    print(`Taking away from ${shown}:`);
    for (const { kind, name } of parts) print(`  ${kind} ${printable(name)}`);
  };
  const further = await uninstallFromUrl(url, announce);
  print(
    removed.length === 0
      ? `Nothing of the service is in ${shown}`
      : `Removed ${describePartCounts(removed)}${further}`,
  );
}
