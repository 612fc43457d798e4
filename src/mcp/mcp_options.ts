import { type Described, either, group, listOf } from "../options/option.ts";
import { flag, textLike } from "../options/option_kinds.ts";

/** The options of MCP, by which programs of language models use the service. */
export interface McpOptions {
  /** Lets tools write, delete and call procedures, as far as the caller may. Off unless set. */
  readonly write?: boolean | undefined;
  /** The names by which the service is reached; the loopback is always one. */
  readonly hosts?: readonly string[] | undefined;
}

const members = {
  write: flag().unlessSet(false),
  hosts: listOf("names of hosts", textLike('a host like "api.example.com"', /^[\w.:[\]-]+$/))
    .unlessSet([]),
} satisfies Described<McpOptions>;

/** The option `mcp`, described. */
export const mcpOption = either(flag(), group(members)).unlessSet(false);

/** The options of MCP with every default. */
export interface ResolvedMcp {
  readonly write: boolean;
  readonly hosts: readonly string[];
}

/** Resolves the option `mcp`; null if it is off. */
export function resolveMcp(option: boolean | ResolvedMcp): ResolvedMcp | null {
  if (option === false) return null;
  return option === true ? { write: false, hosts: [] } : option;
}
