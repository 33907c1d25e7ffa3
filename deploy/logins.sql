-- Let each process log in under its own role. Run it with psql as the owner of the roles, after `r4p migrate --roles`.
-- The environment holds one password for each role: WEB_DB_PASSWORD and so on.
\set ON_ERROR_STOP on
set password_encryption = 'scram-sha-256';
\getenv web WEB_DB_PASSWORD
\getenv github GITHUB_DB_PASSWORD
\getenv verify VERIFY_DB_PASSWORD
\getenv agents AGENTS_DB_PASSWORD
\getenv writer WRITER_DB_PASSWORD
\getenv train TRAIN_DB_PASSWORD
\getenv tests TESTS_DB_PASSWORD
alter role r4p_web login password :'web';
alter role r4p_github login password :'github';
alter role r4p_verify login password :'verify';
alter role r4p_agents login password :'agents';
alter role r4p_writer login password :'writer';
alter role r4p_train login password :'train';
alter role r4p_tests login password :'tests';
