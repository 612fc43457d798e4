import type { Engine, World } from "../world.ts";

/** A fault, from its begin until everything works again. */
export interface Fault {
  readonly name: string;
  readonly engines: readonly Engine[];
  /** Why the fault cannot be injected on this machine. Absent if it can. */
  readonly missing?: string | null;
  /** True if processes of the service can lose the key-value store that they share. */
  readonly hitsStore?: boolean;
  /** A part of the world that only some faults need. */
  readonly needs?: "search";
  run(world: World): Promise<void>;
}
