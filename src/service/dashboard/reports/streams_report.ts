import { unknownAddressGroup } from "../../../guard/client_address.ts";
import { AggregateStream } from "../../../live/aggregate/shared_aggregates.ts";
import type { LiveHub } from "../../../live/live_hub.ts";
import type { StreamSession } from "../../../live/stream/stream_session.ts";
import type { Resource } from "../../../resource/model/resource.ts";
import type { Clock } from "../../../runtime/runtime.ts";
import type { ColumnInfo, TableInfo } from "../../../schema/table_info.ts";
import type { Report } from "../report.ts";
import { printMaskedFilter } from "../print_masked_filter.ts";

export interface StreamsReportDependencies {
  readonly hubs: { all(): readonly LiveHub[] };
  readonly resources: readonly Resource[];
  readonly clock: Clock;
}

/** Creates the report of open live streams: the 500 oldest of each database. */
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

  function describe(session: StreamSession) {
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
      filter: printMaskedFilter(filter, table, isShown),
      // True if the stream has sent all changes. An aggregate sends only results.
      isLive: isAggregate ? null : stream.isLive,
      // True if a multiplexed stream (one response for several streams) carries the stream.
      isPart: part !== null,
    };
  }

  return {
    name: "streams",
    method: "GET",
    answer() {
      const open = hubs.all();
      const shown = open.flatMap((hub) => hub.sessions().take(maxStreams).toArray())
        .sort((left, right) => left.openedAt - right.openedAt).slice(0, maxStreams);
      const total = open.reduce((sum, { size }) => sum + size, 0);
      return { streams: shown.map(describe), total, isComplete: shown.length === total };
    },
  };
}

const maxStreams = 500;

/** Returns the IP address from the session's quota slot. Sessions have no copy, to save memory. */
function addressOf({ quotaSlot: { counts } }: StreamSession): string | null {
  const prefix = "address ";
  const key = counts.map(({ key }) => key).find((key) => key.startsWith(prefix));
  const address = key?.slice(prefix.length) ?? unknownAddressGroup;
  return address === unknownAddressGroup || address === "" ? null : address;
}
