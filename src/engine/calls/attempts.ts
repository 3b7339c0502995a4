import { type AttemptsRequest, attemptsRequest, MAX_ATTEMPTS_READ } from "../../contract/executions.ts";
import type { AttemptPage, AttemptView } from "../../contract/replies.ts";
import { type AttemptRecord, attemptKey } from "../../kernel/records/attempt.ts";
import type { Attempt } from "../../kernel/records/execution.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { addDetails } from "../reading/details.ts";
import { attemptView } from "../reading/views.ts";
import type { Session } from "./session.ts";

/** A page ends behind so many characters of failures: an attempt may have a hundred thousand of them as JSON. */
const PAGE_CHARS = 512 * 1024;
/** Attempts read at a time. */
const READ_AT_ONCE = 25;

/** Attempts in the order they were made; the last is the current one. */
export async function listAttempts(session: Session, id: string, request: AttemptsRequest = {}): Promise<AttemptPage> {
	const { limit = MAX_ATTEMPTS_READ, cursor } = attemptsRequest.check(request);
	const { cursors } = session.engine;
	const list = `attempts of ${id}`;
	const { record, runner } = await session.read(id);
	const [start] = cursor === undefined ? [0] : await cursors.decode(list, cursor, ["position"]);
	const current = record.attempt;
	if (!current) return { attempts: [] };
	const attempts: AttemptView[] = [];
	let next = Number(start);
	const end = Math.min(next + limit, current.index + 1);
	for (let chars = 0; next < end && chars < PAGE_CHARS; ) {
		const until = Math.min(next + READ_AT_ONCE, end);
		const found = await endedAttempts(session, runner, id, next, Math.min(until, current.index));
		if (until > current.index) found.push(current);
		next = until;
		const shown = found.map((one) => ({ view: attemptView(one), failure: one.failure }));
		await addDetails(runner, id, shown);
		for (const { view } of shown) {
			if (chars >= PAGE_CHARS) {
				next = view.index;
				break;
			}
			attempts.push(view);
			if (view.failure) chars += JSON.stringify(view.failure).length;
		}
	}
	return { attempts, ...(next <= current.index ? { nextCursor: await cursors.encode(list, [next]) } : undefined) };
}

/** Those that were put aside when the next one began; what was removed meanwhile is left out. */
async function endedAttempts(
	session: Session,
	runner: PartitionRunner,
	id: string,
	from: number,
	to: number,
): Promise<Attempt[]> {
	if (from >= to) return [];
	const keys = Array.from({ length: to - from }, (_, n) => attemptKey(id, from + n));
	const { records } = await runner.ask((store, partition) => store.read(partition, keys));
	return records.flatMap((stored) => {
		const { attempt = null } = stored.version > 0 ? session.decode<AttemptRecord>(stored) : {};
		return attempt ? [attempt] : [];
	});
}
