import type { Clock } from "../../contract/clock.ts";
import { eligibleQueue } from "../../kernel/placement.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import { WorkersFor } from "../../kernel/serving.ts";
import type { Session } from "../calls/session.ts";

/** How long a read waits for the registry, which may be in another partition: what is asked for is there without it. */
const PATIENCE_MS = 1000;

/**
 * Who is there for work that waits for a worker; undefined where that cannot be told. One look at the registry of each
 * namespace, whatever there is of its work, and it ends when somebody was found for all of it: mostly at the first workers.
 */
export async function workersBeside(
	session: Session,
	waiting: readonly ExecutionRecord[],
): Promise<(record: ExecutionRecord) => WorkersFor | undefined> {
	const namespaces = new Map<string, Map<string, WorkersFor>>();
	for (const record of waiting) {
		const classes = namespaces.get(record.namespace) ?? new Map<string, WorkersFor>();
		namespaces.set(record.namespace, classes);
		const name = eligibleQueue(record);
		if (!classes.has(name)) classes.set(name, new WorkersFor(record));
	}
	await Promise.all(
		[...namespaces].map(async ([namespace, classes]) => {
			if (!(await isLookedUp(session, namespace, [...classes.values()]))) namespaces.delete(namespace);
		}),
	);
	return (record) => namespaces.get(record.namespace)?.get(eligibleQueue(record));
}

/** Shows the workers of a namespace to all who ask; false when some were not seen that might matter. */
async function isLookedUp({ engine }: Session, namespace: string, asking: readonly WorkersFor[]): Promise<boolean> {
	const unserved = new Set(asking);
	let areAllReadable = true;
	const walk = engine.registry.visit(namespace, {
		visit(worker) {
			for (const workers of unserved) {
				workers.see(worker);
				if (workers.able > 0) unserved.delete(workers);
			}
		},
		unreadable(key, error) {
			areAllReadable = false;
			engine.fault("a record cannot be read", error, key);
		},
		isDone: () => unserved.size === 0,
	});
	return (await isDoneSoon(engine.clock, walk)) && (areAllReadable || unserved.size === 0);
}

function isDoneSoon(clock: Clock, walk: Promise<unknown>): Promise<boolean> {
	return new Promise((resolve) => {
		const disarm = clock.setTimer(PATIENCE_MS, () => resolve(false));
		const end = (isDone: boolean) => {
			disarm();
			resolve(isDone);
		};
		walk.then(
			() => end(true),
			() => end(false),
		);
	});
}
