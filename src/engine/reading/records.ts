import type { Session } from "../calls/session.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";

/** Records read at a time. */
const AT_ONCE = 250;
/** Characters of a record that is read without further ado; those of large ones have their turns. */
const SMALL = 4096;

/** In the order of the keys; what is not there, or cannot be read, is undefined. */
export async function readRecords<R extends object>(
	session: Session,
	runner: PartitionRunner,
	keys: readonly string[],
): Promise<(R | undefined)[]> {
	const found: (R | undefined)[] = [];
	for (let from = 0; from < keys.length; from += AT_ONCE) {
		const some = keys.slice(from, from + AT_ONCE);
		const { records } = await runner.ask((store, partition) => store.read(partition, some));
		for (const stored of records) {
			if (stored.doc.length > SMALL) await session.engine.ownTurns.before(stored.doc.length);
			found.push(stored.version > 0 ? session.decodeReadable<R>(stored) : undefined);
		}
	}
	return found;
}
