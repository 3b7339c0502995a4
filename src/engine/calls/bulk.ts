import { type BulkRequest, bulkRequest, checkBulk, MAX_BULK, MAX_BULK_ERRORS } from "../../contract/bulk.ts";
import { errorBody, FlowFabricError } from "../../contract/errors.ts";
import type { BulkReply } from "../../contract/replies.ts";
import { findExecutions } from "../reading/listing.ts";
import type { Session } from "./session.ts";

type Action = (id: string) => Promise<unknown>;

/** Commands on their way at the same time: enough to fill commits, few enough to leave room for others. */
const IN_FLIGHT = 64;

/**
 * One command for each execution a page of the list holds; nothing holds them together. So a call that broke off is
 * simply made again: what was done is done, or no longer matches.
 */
export async function bulk(
	session: Session,
	request: BulkRequest,
	actions: (reason: string | undefined) => Record<BulkRequest["action"], Action>,
): Promise<BulkReply> {
	const given = bulkRequest.check(request);
	checkBulk(given);
	const { filter, action, reason, cursor } = given;
	const page = await findExecutions(session, filter, MAX_BULK, cursor);
	const act = actions(reason)[action];
	const reply: BulkReply = { done: 0, failed: 0, errors: [] };
	if (page.nextCursor !== undefined) reply.nextCursor = page.nextCursor;
	const left = page.found.values();
	const worker = async () => {
		for (const { record } of left) {
			const error = await failureOf(act, record.id);
			if (!error || (action === "delete" && isGone(error))) reply.done += 1;
			else {
				reply.failed += 1;
				if (reply.errors.length < MAX_BULK_ERRORS) reply.errors.push({ id: record.id, error: errorBody(error) });
			}
		}
	};
	await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
	return reply;
}

const isGone = (error: object): boolean => error instanceof FlowFabricError && error.code === "execution_not_found";

async function failureOf(act: Action, id: string): Promise<object | undefined> {
	try {
		await act(id);
		return undefined;
	} catch (error) {
		return error as object;
	}
}
