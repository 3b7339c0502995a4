import type { WholeFlow, WholeMember } from "../../kernel/flows/auditing.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { type ExecutionRecord, executionKey } from "../../kernel/records/execution.ts";
import {
	type FlowMembersRecord,
	type FlowProgressRecord,
	type FlowRecord,
	flowKey,
	flowMembersKey,
	flowProgressDefaults,
	flowProgressKey,
	MEMBERS_PER_PAGE,
} from "../../kernel/records/flow.ts";
import { LINKS_PER_PAGE, type LinksRecord, linksDefaults, linksKey } from "../../kernel/records/links.ts";
import { UnreadableRecord } from "../../kernel/unreadable.ts";
import type { AskPartition } from "../duties/index-walk.ts";

const AT_ONCE = 250;

/**
 * Reads a flow with all its members and edges, as it was at one moment: nothing of it changes without its progress, or its
 * own record. Undefined when it changed meanwhile, is being made or removed, or cannot be read.
 */
export async function readWholeFlow(
	ask: AskPartition,
	kernel: Pick<Kernel, "decode">,
	flowId: string,
): Promise<WholeFlow | undefined> {
	try {
		return await readParts(ask, kernel, flowId);
	} catch (error) {
		// It is told of by its own key; nobody can say whether the rest of its flow fits it.
		if (error instanceof UnreadableRecord) return undefined;
		throw error;
	}
}

async function readParts(
	ask: AskPartition,
	kernel: Pick<Kernel, "decode">,
	flowId: string,
): Promise<WholeFlow | undefined> {
	const read = async <R extends object>(keys: readonly string[]): Promise<{ version: number; record?: R }[]> => {
		const found: { version: number; record?: R }[] = [];
		for (let from = 0; from < keys.length; from += AT_ONCE) {
			const { records } = await ask((store, partition) => store.read(partition, keys.slice(from, from + AT_ONCE)));
			for (const { version, key, doc } of records)
				found.push(version > 0 ? { version, record: kernel.decode(key, doc) as R } : { version });
		}
		return found;
	};
	const heads = [flowKey(flowId), flowProgressKey(flowId)];
	const [first, second] = await read<FlowRecord & FlowProgressRecord>(heads);
	const flow = first?.record;
	if (!flow || flow.removing || flow.buildUntil > 0) return undefined;

	const memberPages = Array.from({ length: Math.ceil(flow.nodes / MEMBERS_PER_PAGE) }, (_, n) =>
		flowMembersKey(flowId, n),
	);
	const entries = (await read<FlowMembersRecord>(memberPages)).flatMap(({ record }) => record?.members ?? []);
	const records = await read<ExecutionRecord>(entries.map(({ executionId }) => executionKey(executionId)));
	const links = await read<LinksRecord>(entries.map(({ executionId }) => linksKey(executionId)));
	const members: WholeMember[] = [];
	for (const [n, entry] of entries.entries()) {
		const page = links[n]?.record ?? linksDefaults;
		const count = Math.ceil(Math.max(page.outs, page.ins) / LINKS_PER_PAGE);
		const keys = Array.from({ length: Math.max(0, count - 1) }, (_, more) => linksKey(entry.executionId, more + 1));
		const pages = [page, ...(await read<LinksRecord>(keys)).map(({ record }) => record ?? linksDefaults)];
		members.push({
			entry,
			record: records[n]?.record,
			links: page,
			out: pages.flatMap((each) => each.out),
			in: pages.flatMap((each) => each.in),
		});
	}
	const again = await read(heads);
	const isStill = again[0]?.version === first?.version && again[1]?.version === second?.version;
	return isStill ? { flow, progress: second?.record ?? flowProgressDefaults, members } : undefined;
}
