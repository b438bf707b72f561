# Installs the build into an empty folder, then configures, builds and runs consumer/ against it.
file(REMOVE_RECURSE ${work})
foreach(step IN ITEMS
    "--install;${build};--prefix;${work}/prefix"
    "-G;${generator};-S;${CMAKE_CURRENT_LIST_DIR}/consumer;-B;${work}/consumer;-DCMAKE_PREFIX_PATH=${work}/prefix;-DCMAKE_CXX_COMPILER=${compiler};-DCMAKE_BUILD_TYPE=Release"
    "--build;${work}/consumer")
  execute_process(COMMAND ${CMAKE_COMMAND} ${step} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND ${work}/consumer/consumer COMMAND_ERROR_IS_FATAL ANY)
