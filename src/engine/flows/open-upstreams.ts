import type { Upstream } from "../../kernel/flows/describing.ts";
import { type ExecutionRecord, executionKey } from "../../kernel/records/execution.ts";
import { LINKS_PER_PAGE, type LinksRecord, linksKey } from "../../kernel/records/links.ts";
import { hasEnded, publicState } from "../../kernel/state.ts";
import type { Session } from "../calls/session.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { readRecords } from "../reading/records.ts";

const MOST_NAMED = 10;
/** Edges are looked through page by page until so many are named, and no further than this. */
const MOST_PAGES = 16;

/** What a member of a flow still waits for, the first of it. */
export async function openUpstreams(
	session: Session,
	{ id, member }: ExecutionRecord,
	runner: PartitionRunner,
): Promise<Upstream[]> {
	const found: Upstream[] = [];
	const pages = Math.min(MOST_PAGES, Math.ceil((member?.group.edges ?? 0) / LINKS_PER_PAGE));
	for (let page = 0; page < pages && found.length < MOST_NAMED; page++) {
		const [links] = await readRecords<LinksRecord>(session, runner, [linksKey(id, page)]);
		const keys = (links?.in ?? []).map(({ from }) => executionKey(from));
		for (const upstream of await readRecords<ExecutionRecord>(session, runner, keys))
			if (upstream?.member && !hasEnded(upstream))
				found.push({ key: upstream.member.key, publicState: publicState(upstream) });
	}
	return found.slice(0, MOST_NAMED);
}
