import type { ParentView } from "../../contract/replies.ts";
import { type ExecutionRecord, executionKey } from "../../kernel/records/execution.ts";
import { LINKS_PER_PAGE, type LinksRecord, linksKey } from "../../kernel/records/links.ts";
import type { Session } from "../calls/session.ts";
import { endingViews } from "../reading/ended-work.ts";
import { readRecords } from "../reading/records.ts";

/** What the upstreams of a member pass to it, by the names that their edges give. */
export async function parentsOf(session: Session, { id }: ExecutionRecord): Promise<Record<string, ParentView>> {
	const runner = session.runnerOf(id);
	const read = <R extends object>(keys: readonly string[]) => readRecords<R>(session, runner, keys);
	const [first] = await read<LinksRecord>([linksKey(id)]);
	const pages = Math.ceil((first?.ins ?? 0) / LINKS_PER_PAGE);
	const rest = await read<LinksRecord>(Array.from({ length: Math.max(0, pages - 1) }, (_, n) => linksKey(id, n + 1)));
	const edges = [first, ...rest].flatMap((page) => page?.in ?? []);
	const passing = edges.filter(({ passResultAs, end }) => passResultAs !== undefined && end !== undefined);
	const upstreams = await read<ExecutionRecord>(passing.map(({ from }) => executionKey(from)));
	const views = await endingViews(
		session,
		runner,
		passing.map(({ from, end = "completed", attempt }, n) => ({
			executionId: from,
			record: upstreams[n],
			state: end,
			attempt,
		})),
	);
	return Object.fromEntries(views.map((view, n) => [passing[n]?.passResultAs ?? "", view]));
}
