-- What this crate uses of SQLite's functions and PostgreSQL lacks, or has by another meaning.

CREATE FUNCTION max(a bigint, b bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS 'SELECT greatest(a, b)';
CREATE FUNCTION min(a bigint, b bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS 'SELECT least(a, b)';
CREATE FUNCTION instr(text text, part text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS 'SELECT position(part IN text)::bigint';
-- In `pattern`, `*` stands for anything; `[[]` and `[?]` are the characters themselves.
CREATE FUNCTION glob(pattern text, value text) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$ SELECT value LIKE replace(replace(replace(replace(replace(replace(
        pattern, '\', '\\'), '%', '\%'), '_', '\_'), '[[]', '['), '[?]', '?'), '*', '%') $$;
-- Whether a text is in a value, whatever its case.
CREATE FUNCTION has_text(part text, value text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT coalesce(position(lower(part COLLATE "und-x-icu") IN lower(value COLLATE "und-x-icu")) > 0, false) $$;
CREATE FUNCTION json_valid(value text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$ BEGIN PERFORM value::json; RETURN true; EXCEPTION WHEN others THEN RETURN false; END $$;
-- `path` is `$.a.b`. A text of the server cannot hold the letter \u0000, so it is left out.
CREATE FUNCTION json_extract(value text, path text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$ SELECT CASE WHEN strpos(value, '\u0000') = 0 THEN value
        ELSE regexp_replace(value, '(?<!\\)((?:\\\\)*)\\u0000', '\1', 'g') END::json
        #>> string_to_array(substr(path, 3), '.') $$;
CREATE FUNCTION json_each(list text) RETURNS TABLE (value text) LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS 'SELECT json_array_elements_text(list::json)';
CREATE FUNCTION text_list(list text[]) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS 'SELECT array_to_json(list)::text';
CREATE AGGREGATE json_group_array(text) (SFUNC = array_append, STYPE = text[], INITCOND = '{}', FINALFUNC = text_list);
-- The day of a time in seconds, in the session's time zone.
CREATE FUNCTION strftime(format text, at bigint, unit text, zone text) RETURNS text LANGUAGE sql STABLE STRICT
    AS $$ SELECT to_char(to_timestamp(at), 'YYYY-MM-DD') $$;
-- The number of a new row, as SQLite gives it: one more than the highest. Transactions that write exclude each other.
CREATE FUNCTION next_number(of text) RETURNS bigint LANGUAGE plpgsql VOLATILE STRICT
    AS $$ DECLARE number bigint; BEGIN
        EXECUTE format('SELECT coalesce(max(%s), 0) + 1 FROM %I', CASE of WHEN 'event' THEN 'id' ELSE 'n' END, of) INTO number;
        RETURN number;
    END $$;
