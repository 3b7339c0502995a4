import { slotOfGivenId } from "../../contract/ids.ts";
import { childrenQueue, flowQueue, listQueue, listQueueParts, listQueuePrefix } from "../../kernel/placement.ts";
import type { QueuePosition } from "../../store/port.ts";
import type { Session } from "../calls/session.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import type { Search } from "./list-filter.ts";

/** An index that a list is read by. */
export interface ListIndex {
	/** What its cursors point into. */
	name: string;
	partitions: readonly number[];
	/** What is asked for is one queue of each partition, which is read in one piece. */
	isOneQueue: boolean;
	/** Whether all it finds is of one namespace, which may be another than the one searched. */
	isOfOneNamespace: boolean;
	/** Whether most of what it finds may not match. */
	isNarrow: boolean;
	/** Where to begin when it is not at the first. */
	start?: QueuePosition;
	queuesIn(runner: PartitionRunner): Promise<string[]>;
	isWithin(score: number): boolean;
}

export function indexFor(session: Session, search: Search): ListIndex {
	const { flowId, parentId } = search;
	if (parentId !== undefined) return parentIndex(session, parentId, search);
	return flowId === undefined ? namespaceIndex(session, search) : flowIndex(session, flowId, search);
}

const within = (namespace: string | undefined): string => (namespace === undefined ? "" : ` in ${namespace}`);

/** All of a namespace: a queue for each lane and state. Scores are negated times of creation. */
function namespaceIndex(session: Session, search: Search): ListIndex {
	const { namespace = "", lane, states, createdAfter, createdBefore } = search;
	return {
		name: `executions of ${namespace}`,
		partitions: [...session.engine.runners.keys()],
		isOneQueue: lane !== undefined && states?.size === 1,
		isOfOneNamespace: false,
		isNarrow: [search.kind, search.tag, search.reason].some((each) => each !== undefined),
		// What was created before a time stands behind that of the millisecond before it.
		...(createdBefore === undefined ? undefined : { start: { score: 1 - createdBefore, key: "" } }),
		async queuesIn(runner) {
			if (lane !== undefined && states) return [...states].map((state) => listQueue(namespace, lane, state));
			const prefix = listQueuePrefix(namespace, lane);
			const { queues } = await runner.ask((store, partition) => store.queues(partition, prefix));
			return states ? queues.filter((queue) => states.has(listQueueParts(namespace, queue).state)) : queues;
		},
		isWithin: (score) => createdAfter === undefined || -score >= createdAfter,
	};
}

/** The members of a flow: one queue. Scores are negated numbers. */
function flowIndex(session: Session, flowId: string, search: Search): ListIndex {
	const { namespace, states, kind, tag, lane, createdAfter, createdBefore } = search;
	return {
		name: `members of ${flowId}${within(namespace)}`,
		partitions: [session.engine.runnerOfFlow(flowId, "flowId").partition],
		isOneQueue: true,
		isOfOneNamespace: true,
		isNarrow: [states, kind, tag, lane, createdAfter, createdBefore].some((each) => each !== undefined),
		queuesIn: async () => [flowQueue(flowId)],
		isWithin: () => true,
	};
}

/** The children of an execution: one queue. Scores are as those of a namespace. */
function parentIndex(session: Session, parentId: string, search: Search): ListIndex {
	const { namespace, states, kind, tag, lane, flowId } = search;
	return {
		...namespaceIndex(session, search),
		name: `children of ${parentId}${within(namespace)}`,
		partitions: [slotOfGivenId("ex", parentId, "parentId") % session.engine.runners.length],
		isOneQueue: true,
		isOfOneNamespace: true,
		isNarrow: [states, kind, tag, lane, flowId].some((each) => each !== undefined),
		queuesIn: async () => [childrenQueue(parentId)],
	};
}
