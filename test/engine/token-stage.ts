import type { EngineOptions } from "../../src/engine/engine.ts";
import type { TokenSubject, TokenVerdict } from "../../src/engine/tokens/waitpoint-tokens.ts";
import { EngineGroup, type Member } from "./engine-group.ts";

/** What tests of tokens and keys share. */

export const secretOf = (digit: string): string => digit.repeat(64);

export const subject: TokenSubject = {
	executionId: `ex_${"1".repeat(32)}_7`,
	waitpointId: `wp_${"2".repeat(32)}_7`,
	waitpointKey: "approval",
	createdAt: 1_700_000_000_000,
	expiresAt: 0,
};

export async function startGroup(
	options: Partial<EngineOptions> = {},
	partitions = 2,
): Promise<{ group: EngineGroup; one: Member }> {
	const group = new EngineGroup(partitions);
	return { group, one: await group.start("one", options) };
}

export const signed = async ({ engine }: Member, about = subject): Promise<string> =>
	(await engine.tokens.sign(about)).token;

export const worthOf = (
	{ engine }: Member,
	token: string,
	about: TokenSubject | undefined = subject,
): Promise<TokenVerdict> => engine.tokens.verify(about, token);
