import type { ExecutionRecord } from "../records/execution.ts";
import type { FlowMemberEntry, FlowProgressRecord, FlowRecord } from "../records/flow.ts";
import type { EdgeState, InEdge, LinksRecord, OutEdge } from "../records/links.ts";
import { hasEnded, publicState } from "../state.ts";
import { isImpossible, isSatisfied } from "./groups.ts";
import { edgeStateOf } from "./member-links.ts";
import { isBad, isWaitingForGroup } from "./members.ts";

/** A member with its edges, of all pages. */
export interface WholeMember {
	entry: FlowMemberEntry;
	record: ExecutionRecord | undefined;
	links: LinksRecord;
	out: readonly OutEdge[];
	in: readonly InEdge[];
}

/** All there is of a flow, as it was at one moment. */
export interface WholeFlow {
	flow: FlowRecord;
	progress: FlowProgressRecord;
	members: readonly WholeMember[];
}

/** What of a flow is not as its members and their edges say, in words. Nothing ever should be. */
export function auditFlow({ flow, progress, members }: WholeFlow): string[] {
	const problems: string[] = [];
	const tell = (problem: string) => problems.push(`flow ${flow.id} ${problem}`);
	if (members.length !== flow.nodes) tell(`has ${members.length} members instead of ${flow.nodes}`);
	const counted: Record<string, number> = {};
	let ended = 0;
	let bad = 0;
	for (const { entry, record } of members) {
		if (!record?.member) {
			tell(`lacks its member ${entry.key}, ${entry.executionId}`);
			continue;
		}
		const state = publicState(record);
		counted[state] = (counted[state] ?? 0) + 1;
		ended += Number(hasEnded(record));
		bad += Number(isBad(record));
	}
	if (!isSame(counted, progress.states))
		tell(`counts ${JSON.stringify(progress.states)} of members that are ${JSON.stringify(counted)}`);
	if (ended !== progress.ended || bad !== progress.bad)
		tell(`counts ${progress.ended} ended members, ${progress.bad} of them badly, instead of ${ended} and ${bad}`);
	for (const problem of edgeProblems(flow, members)) tell(problem);
	if (isOver(flow, progress, ended)) tell("has not ended although all its members have");
	return problems;
}

function edgeProblems(flow: FlowRecord, members: readonly WholeMember[]): string[] {
	// While edges are being opened again, some of what they counted for has yet to be taken back.
	if (members.some(({ links }) => links.reopenFrom >= 0)) return [];
	const problems: string[] = [];
	const stateAt = edgeStates(members);
	for (const { entry, record, in: ins } of members) {
		if (!record?.member) continue;
		const { group } = record.member;
		const states = ins.map(({ from }, place) => stateAt.get(placeName(from, entry.executionId, place)));
		if (states.includes(undefined)) problems.push(`has an edge to ${entry.key} that its upstream knows nothing of`);
		const satisfied = states.filter((state) => state === "satisfied").length;
		const impossible = states.filter((state) => state === "impossible").length;
		if (group.edges !== ins.length || group.satisfied !== satisfied || group.impossible !== impossible)
			problems.push(
				`counts ${group.satisfied} of ${group.edges} edges to ${entry.key} satisfied, ${group.impossible} impossible, instead of ${satisfied} of ${ins.length}, ${impossible}`,
			);
		if (flow.cancel || flow.sealFrom > 0) continue;
		const isHeldBack = record.eligibilityState === "blocked_by_dependencies" && isSatisfied(group);
		if (isHeldBack && record.attempt === null)
			problems.push(`keeps ${entry.key} waiting although its group is satisfied`);
		if (flow.isSealed && isWaitingForGroup(record) && isImpossible(group))
			problems.push(`keeps ${entry.key} waiting although its group cannot be satisfied`);
	}
	return problems;
}

/** What became of each edge, by its two ends and its place. */
function edgeStates(members: readonly WholeMember[]): Map<string, EdgeState | "open"> {
	const states = new Map<string, EdgeState | "open">();
	for (const { entry, record, links, out } of members)
		for (const [index, edge] of out.entries()) {
			const state = record && edgeStateOf(edge, index, record, links);
			states.set(placeName(entry.executionId, edge.to, edge.place), state ?? "open");
		}
	return states;
}

const placeName = (from: string, to: string, place: number): string => `${from} ${to} ${place}`;

const isOver = (flow: FlowRecord, { busy }: FlowProgressRecord, ended: number): boolean =>
	flow.outcome === "" &&
	flow.isSealed &&
	ended === flow.nodes &&
	busy === 0 &&
	[flow.unshown, flow.sealFrom, flow.reviewFrom].every((left) => left === 0);

const isSame = (counted: Record<string, number>, told: Readonly<Record<string, number>>): boolean =>
	Object.keys(told).length === Object.keys(counted).length &&
	Object.entries(counted).every(([state, count]) => told[state] === count);
