/**
 * How a person likes their answers. User state belongs to the person and not to a flow, so the chat and the team's
 * assistant read and write the same field, and declare it once.
 */

import { z } from "zod";

export const responseStyle = z.enum(["concise", "detailed"]);

/** There is no default style, so that a flow can tell a choice from none and look elsewhere. */
export const preferences = z.object({ responseStyle: responseStyle.optional() });
