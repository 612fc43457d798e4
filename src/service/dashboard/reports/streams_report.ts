import { unknownAddressGroup } from "../../../guard/client_address.ts";
import { AggregateStream } from "../../../live/aggregate/aggregate_stream.ts";
import type { LiveHub } from "../../../live/live_hub.ts";
import type { StreamSession } from "../../../live/stream/stream_session.ts";
import type { Resource } from "../../../resource/model/resource.ts";
import type { Clock } from "../../../runtime/runtime.ts";
import type { ColumnInfo, TableInfo } from "../../../schema/table_info.ts";
import type { Report } from "../report.ts";
import { displayedFilter } from "../displayed_filter.ts";

export interface StreamsReportDependencies {
  readonly hubs: { all(): readonly LiveHub[] };
  readonly resources: readonly Resource[];
  readonly clock: Clock;
}

/** The open live streams of this process. */
export interface StreamsReport {
  /** The oldest streams. */
  readonly streams: readonly OpenStream[];
  readonly total: number;
  /** True if the report contains all streams. */
  readonly isComplete: boolean;
}

interface OpenStream {
  /** The id of the stream. The id is the same in each report of this process. */
  readonly id: number;
  readonly kind: "rows" | "aggregates";
  /** The name of the table. */
  readonly resource: string;
  /** The user's id, or null for a caller without a user. */
  readonly user: string | null;
  /** The address under which the stream is counted, or null if the address is unknown. */
  readonly address: string | null;
  /** The start of the stream, in milliseconds since 1970. */
  readonly since: number;
  /** The condition on the rows of the stream, from the scope and the filter. */
  readonly filter: string;
  /** True if the stream has sent all changes. Null for an aggregate, which only sends results. */
  readonly isLive: boolean | null;
  /** True if the stream is a part of a multiplexed stream. */
  readonly isPart: boolean;
}

/** Creates the report of the open live streams, the 500 oldest of each database. */
export function createStreamsReport({ hubs, resources, clock }: StreamsReportDependencies): Report {
  const ids = new WeakMap<StreamSession, number>();
  let lastId = 0;

  function idOf(session: StreamSession): number {
    const id = ids.get(session) ?? ++lastId;
    ids.set(session, id);
    return id;
  }

  function isShown(column: ColumnInfo, table: TableInfo): boolean {
    return resources.some((one) => one.table === table && one.fields.readable.includes(column));
  }

  function describe(session: StreamSession): OpenStream {
    const { stream, user, openedAt, part } = session;
    const { filter, table } = stream.query;
    const isAggregate = stream instanceof AggregateStream;
    return {
      id: idOf(session),
      kind: isAggregate ? "aggregates" : "rows",
      resource: table.label,
      user: user?.id ?? null,
      address: addressOf(session),
      since: Math.round(clock.now() - (clock.elapsedMs() - openedAt)),
      filter: displayedFilter(filter, table, isShown),
      isLive: isAggregate ? null : stream.isLive,
      isPart: part !== null,
    };
  }

  return {
    name: "streams",
    method: "GET",
    answer(): StreamsReport {
      const open = hubs.all();
      const shown = open.flatMap((hub) => hub.sessions().take(maxStreams).toArray())
        .sort((left, right) => left.openedAt - right.openedAt).slice(0, maxStreams);
      const total = open.reduce((sum, { size }) => sum + size, 0);
      return { streams: shown.map(describe), total, isComplete: shown.length === total };
    },
  };
}

const maxStreams = 500;

/** Returns the address from the quota of streams, because sessions store no copy. */
function addressOf({ quotaSlot: { counts } }: StreamSession): string | null {
  const prefix = "address ";
  const key = counts.map(({ key }) => key).find((key) => key.startsWith(prefix));
  const address = key?.slice(prefix.length) ?? unknownAddressGroup;
  return address === unknownAddressGroup || address === "" ? null : address;
}
