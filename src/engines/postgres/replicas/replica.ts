import { DatabaseError, reasonOf } from "../../../db/database_error.ts";
import type {
  Connection,
  DatabaseIdentity,
  Driver,
  DriverReplica,
  ReadLimits,
  ReplicaCounts,
} from "../../../db/driver.ts";
import { type Clock, deadline } from "../../../runtime/runtime.ts";
import type { Statement } from "../../../sql/fragment.ts";

/** The log position of the primary, as the number of bytes since the first byte of its log. */
export interface PrimaryPosition {
  /** The identifier of the cluster, which a standby has in common with its primary. */
  readonly cluster: string;
  readonly bytes: number;
}

export interface ReplicaParts {
  readonly driver: Driver;
  readonly clock: Clock;
  readonly position: () => Promise<PrimaryPosition>;
  /** Called with the reason why no read uses the replica, at most once a minute. */
  readonly notice: (message: string) => void;
}

const waitLimitMs = 50;
const readAgainMs = 2;
/** The time for which no read uses a replica after a failure, in milliseconds. */
const leftOutMs = 1_000;
const noticeAgainMs = 60_000;

export class Replica implements DriverReplica {
  readonly counts: ReplicaCounts = { read: 0, late: 0, failed: 0 };
  readonly driver: Driver;
  readonly #parts: ReplicaParts;
  #reached = 0;
  #reading: Promise<void> | null = null;
  #readAtMs = -Infinity;
  #failedAtMs = -Infinity;
  #noticedAtMs = -Infinity;

  constructor(parts: ReplicaParts) {
    this.#parts = parts;
    this.driver = parts.driver;
  }

  get isUsable(): boolean {
    return this.#parts.clock.elapsedMs() - this.#failedAtMs >= leftOutMs;
  }

  reads(limits: ReadLimits, identity: DatabaseIdentity | undefined): Connection {
    const { driver } = this;
    return (identity === undefined ? driver : driver.as?.(identity) ?? driver).reads(limits);
  }

  /** Waits until the replica has all changes that are committed now. False if it takes too long. */
  async isCurrent(): Promise<boolean> {
    const position = await this.#parts.position();
    try {
      await this.#reach(position);
      return true;
    } catch (error) {
      this.counts.late++;
      this.#leaveOut(error);
      return false;
    }
  }

  async check(): Promise<void> {
    await this.#reach(await this.#parts.position());
  }

  async #reach({ cluster, bytes }: PrimaryPosition): Promise<void> {
    if (this.#reached >= bytes) return;
    const limit = deadline(waitLimitMs, this.#parts.clock, () => new Error("it lags behind"));
    while (this.#reached < bytes) await limit.within(this.#reading ??= this.#read(cluster));
  }

  /** Forgets the known position, so that the next read asks the replica for its position. */
  distrust(): void {
    this.#reached = 0;
  }

  fails(error: unknown): void {
    this.counts.failed++;
    this.#leaveOut(error);
  }

  async #read(cluster: string): Promise<void> {
    const { clock, driver } = this.#parts;
    try {
      const waitMs = this.#readAtMs + readAgainMs - clock.elapsedMs();
      if (waitMs > 0) await new Promise<void>((resolve) => clock.after(waitMs, resolve));
      const { rows: [row] } = await driver.query(replayed);
      this.#readAtMs = clock.elapsedMs();
      const [position, ofReplica] = row ?? [];
      if (String(ofReplica) !== cluster) throw new Error("it is a standby of another server");
      if (position === null) throw new Error("it is no standby");
      this.#reached = Number(position);
    } finally {
      this.#reading = null;
    }
  }

  #leaveOut(error: unknown): void {
    const nowMs = this.#parts.clock.elapsedMs();
    this.#reached = 0;
    this.#failedAtMs = nowMs;
    if (nowMs - this.#noticedAtMs < noticeAgainMs) return;
    this.#noticedAtMs = nowMs;
    const reason = error instanceof DatabaseError ? reasonOf(error) : String(error);
    this.#parts.notice(`Reads use the primary instead of ${this.driver.label}: ${reason}`);
  }
}

const replayed: Statement = {
  text: `SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() - '0/0'::pg_lsn END,
    (SELECT system_identifier FROM pg_control_system())`,
  values: [],
  isSingle: true,
};
